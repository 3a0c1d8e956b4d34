import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { jsonRecord } from '@cudnn-rnn/canonical/rules'
import { openWeightFile, type WeightFile, type WeightInput } from '@cudnn-rnn/interop'
import { kerasMajor } from '@cudnn-rnn/interop/internal'
import type { Backend } from '@cudnn-rnn/ops'
import { networkOrder } from '../kinds/cell_layer.js'
import type { MergeName } from '../kinds/merges.js'
import { everyStep } from '../kinds/masking.js'
import { stepFunction } from '../kinds/step_function.js'
import type { Layer } from '../layer.js'
import { NAME } from '../layer_build.js'
import { KERAS_CLASSES } from '../layer_table.js'
import { LayersModel } from '../model/layers_model.js'
import { CHAIN, type GraphPlan, isChain, type PlanNode, type Ref } from '../model/model_graph.js'
import { graphOf, isMerge, MERGE_CLASSES, returnsState, shapeOf } from './keras_graph.js'
import type { FileCall, FileGraph, FileLayer, FileValue } from './flat_graph.js'
import { masksOf } from './keras_masks.js'
import { KerasOptions, labelOf, notAModel, unknownLayer } from './keras_options.js'
import { mergedSignal, type PlannedPart, plannedLayer } from './keras_part.js'
import { assignAll, type Made, type Networks, networksIn, recurrentLayers } from './keras_recurrent.js'
import type { KerasSignal } from './keras_row.js'
import { pictureOf } from './keras_shapes.js'
import { KerasVariables } from './keras_variables.js'

/** The model of a file: `importKeras`, whose code is loaded at its first call. */
export async function readKeras(backend: Backend, input: WeightInput, restarts: boolean): Promise<LayersModel> {
  const file = await openWeightFile(input)
  try {
    const graph = graphOf(restarts ? { ...file, kerasModel: restarting(file.kerasModel) } : file)
    const planned = plannedGraph(file, graph)
    const { parts } = planned
    const hasNetworks = parts.some(({ recurrent }) => recurrent !== undefined)
    const taken = new Set(parts.flatMap(({ stored }) => stored))
    const networks: Networks = hasNetworks ? await networksIn(file, taken) : new Map()
    const made: Made[][] = []
    for (const each of parts) made.push(await madeOf(backend, each, networks))
    const plan = planOf(graph, planned, made)
    if (plan.nodes.length === 0) throw notAModel(file.path, 'none of its layers computes anything')
    const elements = file.tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0)
    const model = new LayersModel(
      backend,
      plan,
      {},
      {
        // A Keras layer without biases has them here, and scales and merges are matrices.
        elements: 4 * elements + 2 ** 20,
        refusal: (layer) => unknownLayer(layer, 'its variables must be in the file'),
      },
    )
    try {
      for (const [index, { assign }] of made.flat().entries()) await assign?.(model.layers[index] as Layer)
      return model
    } catch (error) {
      model.dispose()
      throw error
    }
  } finally {
    await file.close()
  }
}

/** A description whose layers are not stateful. */
function restarting(described: unknown): unknown {
  if (Array.isArray(described)) return described.map(restarting)
  const record = jsonRecord(described)
  if (record === undefined) return described
  const fields = Object.entries(record).map(([name, value]) => [name, name === 'stateful' ? false : restarting(value)])
  return Object.fromEntries(fields)
}

interface PlannedCall {
  /** Number of its part; of a merge the part behind it, if there is one, and of an input none. */
  readonly part?: number | undefined
  readonly merge?: MergeName
  readonly name?: string | undefined
  readonly call: FileCall
}

/** A file that is checked, before anything but its description is read. */
interface Planned {
  /** The layers of the file, each once. */
  readonly parts: readonly PlannedPart[]
  readonly calls: readonly PlannedCall[]
  readonly signals: readonly KerasSignal[]
}

/** Compares the whole description with the shapes in the file. */
function plannedGraph(file: WeightFile, graph: FileGraph): Planned {
  const { calls } = graph
  const variables = new KerasVariables(file)
  const masks = masksOf(graph, file.kerasVersion)
  const major = kerasMajor(file)
  const signals: KerasSignal[] = []
  const parts: PlannedPart[] = []
  const known = new Map<FileLayer, number>()
  const planned: PlannedCall[] = []
  /** The first layer that takes each input. */
  const readers = new Map<number, FileLayer>()
  for (const { layer, from } of calls)
    for (const [source] of from) if (takesIds(layer) || !readers.has(source)) readers.set(source, layer)
  for (const [at, call] of calls.entries()) {
    const { layer, from, states } = call
    const options = new KerasOptions(layer.className, layer.config)
    const taken = from.map(([source, tensor]) => {
      if (tensor === 0) return signals[source] as KerasSignal
      return { isSequence: false, features: unitsOf(parts[planned[source]?.part ?? -1], tensor, labelOf(layer)) }
    })
    const ofSequences = taken.some(({ isSequence }) => isSequence)
    const ofPictures = taken.some(({ height }) => height !== undefined)
    const merge = isMerge(layer, ofSequences, ofPictures) ? MERGE_CLASSES.get(layer.className) : undefined
    if (layer.className === 'InputLayer') {
      signals.push(signalOf(options, shapeOf(layer.config), readers.get(at), variables))
      planned.push({ call })
    } else if (merge !== undefined) {
      const output = mergedSignal(merge, options, taken)
      signals.push(output)
      const { name } = layer.config
      const part = masks[at].drops ? parts.push({ output, layers: [everyStep()], stored: [] }) - 1 : undefined
      planned.push({ call, merge, part, name: typeof name === 'string' && NAME.test(name) ? name : undefined })
    } else {
      const [first, ...others] = taken
      if (first === undefined) throw options.refused('it must take a tensor')
      const shared = known.get(layer)
      const made = plannedLayer(layer, first, variables, { ...masks[at], major, others })
      const own = masks[at].drops ? { ...made, layers: [everyStep(), ...made.layers] } : made
      if (states.length > 0 && own.recurrent === undefined) throw options.refused('it must take no initial states')
      if (shared !== undefined && !isSame(parts[shared], own))
        throw options.refused('all of its calls must have inputs of one form')
      planned.push({ call, part: shared ?? parts.length })
      if (shared === undefined) known.set(layer, parts.push(own) - 1)
      signals.push(own.output)
    }
  }
  variables.checkAllTaken()
  return { parts, calls: planned, signals }
}

/** The model of the layers of each part; its layers are all of these, in their order. */
function planOf(
  { calls, inputs, outputs }: FileGraph,
  planned: Planned,
  made: readonly (readonly Made[])[],
): GraphPlan {
  const layers = made.flat().map(({ definition }) => definition)
  let next = 0
  const starts = made.map(({ length }) => {
    next += length
    return next - length
  })
  const nodes: PlanNode[] = []
  /** The output of each call, and its final states. The first place counts if an input is listed twice. */
  const refs: Ref[][] = []
  for (const [place, { call }] of inputs.entries()) refs[call] ??= [[place, 0]]
  const refOf = ([call, tensor]: FileValue): Ref => {
    const ref = refs[call]?.[tensor]
    if (ref === undefined) throw unknownLayer(labelOf(calls[call].layer), `it must give tensor ${tensor}`)
    return ref
  }
  for (const [at, { part, merge, name, call }] of planned.calls.entries()) {
    const from = call.from.map(refOf)
    if (merge !== undefined) {
      nodes.push({ merge, name, from })
      refs[at] = [[inputs.length + nodes.length - 1, 0]]
    }
    if (part !== undefined) {
      let [x, ...others] = (merge === undefined ? from : refs[at]) as [Ref, ...Ref[]]
      const ends: Ref[] = []
      for (const [k, { definition }] of made[part].entries()) {
        const isNetwork = (definition.states ?? 0) > 0
        const states = isNetwork ? networkOrder(definition, call.states.map(refOf)) : []
        nodes.push({ layer: starts[part] + k, from: x, states, others })
        others = []
        const source = inputs.length + nodes.length - 1
        if (isNetwork) {
          const own = Array.from({ length: definition.states ?? 0 }, (_, state): Ref => [source, state + 1])
          ends.push(...networkOrder(definition, own))
        }
        x = [source, 0]
      }
      if (call.states.length > 0 && ends.length === 0)
        throw unknownLayer(labelOf(call.layer), 'one network must compute it to begin with states')
      refs[at] = [x, ...(returnsState(call.layer) ? ends : [])]
    }
  }
  const named = inputs.map(({ name, call }) => {
    const { isSequence, features } = planned.signals[call]
    return { name, signal: { isSequence, features } }
  })
  const plan = {
    inputs: named,
    layers,
    nodes,
    outputs: outputs.map(({ name, value }) => ({ name, value: refOf(value) })),
  }
  const [first, ...more] = plan.outputs
  // A model of layers without effect gives its input.
  if (nodes.length === 0 && more.length === 0 && named.length === 1 && named[0].signal.features !== null) {
    nodes.push({ layer: layers.push(stepFunction({ function: 'line' })) - 1, from: [0, 0] })
    plan.outputs = [{ ...first, value: [1, 0] }]
  }
  if (!isChain(plan)) return plan
  const [[input], [output]] = [plan.inputs, plan.outputs]
  return { ...plan, inputs: [{ ...input, name: CHAIN.input }], outputs: [{ ...output, name: CHAIN.output }] }
}

function unitsOf(planned: PlannedPart | undefined, tensor: number, reader: string): number {
  if (planned?.recurrent !== undefined && planned.recurrent.steps === undefined && tensor > 0)
    return planned.recurrent.units
  throw unknownLayer(reader, 'it must take outputs and final states')
}

function isSame(a: PlannedPart, b: PlannedPart): boolean {
  const text = ({ layers, recurrent, output }: PlannedPart) =>
    JSON.stringify([
      layers.map(({ kind, config }) => [kind, config]),
      recurrent && [recurrent.inputSize, recurrent.holds, recurrent.returnsSequences, recurrent.steps],
      [output.isSequence, output.features, output.height, output.each?.height],
    ])
  return text(a) === text(b)
}

const takesIds = ({ className }: FileLayer) => KERAS_CLASSES.get(className)?.takesIds === true

/**
 * The form of an input: as the file describes it, or else the rows of the first kernel.
 *
 * @param reader the layer that takes it
 */
function signalOf(
  options: KerasOptions,
  shape: unknown,
  reader: FileLayer | undefined,
  variables: KerasVariables,
): KerasSignal {
  const isIds = reader !== undefined && takesIds(reader)
  const sizes = Array.isArray(shape) ? (shape as readonly unknown[]) : undefined
  const rank = sizes?.length ?? (isIds ? 2 : 3)
  const isSequence = rank >= (isIds ? 2 : 3)
  const steps = isSequence && Number.isSafeInteger(sizes?.[1]) ? { time: sizes?.[1] as number } : {}
  if (isIds && rank > 0 && rank < 3) return { isSequence, features: null, ...steps }
  const form = [...(sizes?.slice(isSequence ? 2 : 1, -1) ?? []), sizes?.at(-1) ?? (reader && rowsOf(reader, variables))]
  if (rank < 2 || rank > 5 || !form.every((size) => Number.isSafeInteger(size)))
    throw options.refused('its shape must have a size of its last dimension')
  const own = form as readonly number[]
  return { isSequence, features: elementCount(own), ...pictureOf(own), ...steps }
}

/** The rows of the kernel of a layer: the last axis but one, as a kernel of Conv1D has its time before them. */
function rowsOf({ place, config: { name } }: FileLayer, variables: KerasVariables): number {
  const own = typeof name === 'string' ? name : ''
  const kernels = ['kernel', 'gamma', 'recurrent_kernel'].map(
    (each) => variables.find(place, own, each, 0) ?? variables.find(`${place}/cell`, own, each, 0),
  )
  const shape = kernels.find((each) => each !== undefined)?.shape ?? []
  return (shape.length > 1 ? shape.at(-2) : shape[0]) ?? 0
}

async function madeOf(
  backend: Backend,
  { recurrent, layers, values, stored: tensors }: PlannedPart,
  networks: Networks,
): Promise<Made[]> {
  if (recurrent !== undefined) return recurrentLayers(backend, recurrent, networks)
  const stored: Tensor<FloatArray>[] = []
  for (const { shape, read } of tensors) stored.push({ data: await read(), shape })
  const built: Layer[] = []
  // Once all of its layers exist.
  const assign = (layer: Layer) => {
    built.push(layer)
    if (built.length === layers.length) assignAll(backend, built, values?.(stored) ?? stored)
  }
  return layers.map((definition) => ({ definition, assign }))
}
