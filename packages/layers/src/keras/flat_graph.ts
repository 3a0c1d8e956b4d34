import type { Json } from '@cudnn-rnn/canonical/rules'
import { labelOf, notAModel, unknownLayer } from './keras_options.js'

export interface FileLayer {
  readonly className: string
  readonly config: Json
  /** It is a function of `keras.ops`, which drops masks: some have the names of layers. */
  readonly isOperation?: boolean
  /** `layers/dense_1`, where a file of Keras 3 keeps its variables. */
  readonly place: string
  /** The place of the layer in a `TimeDistributed`. Default: `layer` below `place`. */
  readonly innerPlace?: string
  /** The calls that compute it: it is a model, or several layers. */
  readonly model?: FileGraph
}

/** A tensor of a graph: of the call of that number, the first or a later one that it gives. */
export type FileValue = readonly [call: number, tensor: number]

export interface FileCall {
  /** The same object in all calls of a layer. */
  readonly layer: FileLayer
  readonly from: readonly FileValue[]
  /** Initial states of a recurrent layer. */
  readonly states: readonly FileValue[]
  /** The mask that it takes, where the file has it: the steps of a tensor that are not `value`. */
  readonly mask?: { readonly of: FileValue; readonly value: unknown } | undefined
}

/** A model: calls in an order in which each takes tensors of earlier ones. An input is a call of an InputLayer. */
export interface FileGraph {
  readonly calls: readonly FileCall[]
  readonly inputs: readonly { readonly name: string; readonly call: number }[]
  readonly outputs: readonly { readonly name: string; readonly value: FileValue }[]
  /** How many states each call behind the input takes, if it may begin with states. */
  readonly states?: readonly number[]
}

/** More calls than models have: models that each call another one twice are a trap. */
const MOST = 1e5

/** The number of a tensor in the flat graph, given its number in a call. */
type Place = (tensor: number) => FileValue

/**
 * A graph in which each call of a model is the calls of its layers. Throws RangeError `ERR_UNKNOWN_LAYER` for a call that the model
 * does not take, `ERR_NOT_A_MODEL`.
 */
export function flatGraph(path: string, graph: FileGraph): FileGraph {
  const flat: FileCall[] = []
  let count = 0
  /**
   * @param places of the calls: at first of its inputs, if another graph calls it
   * @param given the mask of these
   * @param begins the states of its calls
   */
  const append = (
    { calls, states: counts = [] }: FileGraph,
    places: Place[],
    given?: FileCall['mask'],
    begins: FileCall['states'] = [],
  ) => {
    let begun = 0
    const placeOf = ([call, tensor]: FileValue) => places[call](tensor)
    const isGiven = calls.map((_, at) => places[at] !== undefined)
    for (const [at, { layer, from, states, mask: own }] of calls.entries()) {
      if (isGiven[at]) continue
      if (++count > MOST) throw notAModel(path, `its layers must not be called more than ${MOST} times`)
      const compared = own && { ...own, of: placeOf(own.of) }
      const mask = compared ?? (from.some(([source]) => isGiven[source]) ? given : undefined)
      const taken = begins.slice(begun, begun + (counts[at - 1] ?? 0))
      begun += taken.length
      const call = { layer, from: from.map(placeOf), states: [...states.map(placeOf), ...taken], mask }
      const { model } = layer
      if (model === undefined) {
        const place = flat.push(call) - 1
        places[at] = (tensor) => [place, tensor]
        continue
      }
      const most = model.states?.reduce((sum, count) => sum + count, 0)
      if ((states.length > 0 && states.length !== most) || from.length !== model.inputs.length)
        throw unknownLayer(
          labelOf(layer),
          `it must take ${model.inputs.length} tensors: current number is ${from.length}`,
        )
      const inner: Place[] = []
      for (const [k, { call: input }] of model.inputs.entries()) inner[input] = () => call.from[k]
      append(model, inner, mask, call.states)
      const ends = model.outputs.map(({ value: [source, tensor] }) => inner[source](tensor))
      places[at] = (tensor) => {
        if (ends[tensor] !== undefined) return ends[tensor]
        throw unknownLayer(labelOf(layer), `it must give tensor ${tensor}`)
      }
    }
  }
  const places: Place[] = []
  append(graph, places)
  return {
    calls: flat,
    inputs: graph.inputs.map(({ name, call }) => ({ name, call: places[call](0)[0] })),
    outputs: graph.outputs.map(({ name, value: [call, tensor] }) => ({ name, value: places[call](tensor) })),
  }
}
