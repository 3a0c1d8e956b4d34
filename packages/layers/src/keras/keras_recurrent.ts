import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { jsonRecord } from '@cudnn-rnn/canonical/rules'
import {
  BasicRNNCell,
  type CellState,
  CudnnCompatibleGRUCell,
  GRUBlockCell,
  LSTMBlockCell,
  LSTMCell,
  type RNNCell,
} from '@cudnn-rnn/cells'
import {
  type ImportedCell,
  type ImportedNetwork,
  importWeights,
  type OpenWeightFile,
  type StoredTensor,
} from '@cudnn-rnn/interop'
import { APART } from '@cudnn-rnn/interop/internal'
import type { Backend } from '@cudnn-rnn/ops'
import { ofDtype } from '@cudnn-rnn/ops/executor'
import { rnn } from '../kinds/cell_layer.js'
import { diagonal } from '../kinds/column_factors.js'
import { concat, multiply } from '../kinds/branch_layer.js'
import { dense } from '../kinds/dense.js'
import { holdPadding } from '../kinds/masking.js'
import { isOfTwoLayers } from './keras_graph.js'
import type { MaskAt } from './keras_masks.js'
import { KerasOptions } from './keras_options.js'
import { columnsOf, type KerasSignal } from './keras_row.js'
import type { Layer, LayerDefinition } from '../layer.js'
import { cudnnGRU, cudnnLSTM, cudnnRNNRelu, cudnnRNNTanh } from '../kinds/recurrent.js'
import { reverse } from '../kinds/reverse.js'
import { lastStep } from '../kinds/sequence_pooling.js'
import { timeDistributed } from '../kinds/time_distributed.js'

const RECURRENT = {
  lstm: cudnnLSTM,
  gru: cudnnGRU,
  rnn_relu: cudnnRNNRelu,
  rnn_tanh: cudnnRNNTanh,
} as const

const CELLS = { LSTMBlockCell, LSTMCell, GRUBlockCell, CudnnCompatibleGRUCell, BasicRNNCell } as const

/** A recurrent layer that is checked, whose network is not read yet. */
export interface RecurrentPlan {
  readonly options: KerasOptions
  readonly label: string
  readonly name: { readonly name?: string }
  readonly networkName: string
  readonly inputSize: number
  readonly units: number
  readonly returnsSequences: boolean
  /** Keras' masked steps repeat the output before them, which the caller may read. */
  readonly holds: boolean
  readonly merge: Merge | undefined
  /** The numbers of steps of the sequence in each step, which the layer reads, and of sequences around that, the inner first. */
  readonly steps?: readonly number[]
}

export interface Made {
  readonly definition: LayerDefinition
  readonly assign?: (layer: Layer) => Promise<void> | void
}

/** Checks a recurrent layer. Throws RangeError `ERR_UNKNOWN_LAYER` for options that no layers here have. */
export function recurrentPlan(
  outer: KerasOptions,
  networkName: string,
  name: { readonly name?: string },
  input: KerasSignal,
  at: MaskAt,
): { readonly output: KerasSignal; readonly recurrent: RecurrentPlan } {
  const isBidirectional = outer.className === 'Bidirectional'
  if (!input.isSequence) throw outer.refused('its input must be a sequence')
  const inner = isBidirectional ? outer.object('layer') : undefined
  const options =
    inner === undefined ? outer : new KerasOptions(outer.className, jsonRecord(inner['config']) ?? {}, networkName)
  for (const each of new Set([outer, options])) {
    if (each.value('stateful') === true) {
      throw each.refused(
        'each call continues the one before in Keras, as it is stateful: import it with { restarts: true }, so that calls begin with zeros, and carry states by model.stream()',
      )
    }
    each.only({
      stateful: [false],
      return_state: [false, true],
      time_major: [false],
      merge_mode: ['concat', ...MERGES.keys()],
    })
    each.checkPrecision()
  }
  if (outer.value('merge_mode') === null && isBidirectional) throw outer.wrong('merge_mode', 'that of one output')
  const cell = jsonRecord(jsonRecord(options.value('cell'))?.['config'])
  const given = cell?.['units'] ?? options.value('units')
  if (!(Number.isSafeInteger(given) && (given as number) >= 1)) throw options.wrong('units', 'an integer >= 1')
  const units = given as number
  const returnsSequences = options.flag('return_sequences', false)
  const goesBackwards = options.flag('go_backwards', false)
  const holds = at.holds && !options.flag('zero_output_for_mask', isBidirectional && at.zeroesSides)
  if (goesBackwards && at.isMasked && returnsSequences)
    throw outer.refused('it must not go backwards over masked steps')
  const plan = {
    options: outer,
    label: outer.label,
    name,
    networkName,
    inputSize: columnsOf(outer, input),
    units,
    returnsSequences,
    holds,
    merge: isBidirectional ? MERGES.get(outer.value('merge_mode'))?.(units) : undefined,
  }
  const sides = isBidirectional && plan.merge === undefined ? 2 : 1
  const output = {
    isSequence: returnsSequences,
    features: units * sides,
    time: returnsSequences ? input.time : undefined,
  }
  return { output, recurrent: plan }
}

interface Merge {
  readonly definition: LayerDefinition
  /** The layer's. */
  readonly variables: readonly Tensor<FloatArray>[]
}

/** How a `Bidirectional` makes [...,units] of both its outputs, which are beside each other. */
const MERGES: ReadonlyMap<unknown, (units: number) => Merge> = new Map(
  Object.entries({
    sum: (units: number) => weighted(units, 1, 1),
    ave: (units: number) => weighted(units, 0.5, 0.5),
    mul: (units: number) => {
      const sides = [weighted(units, 1, 0), weighted(units, 0, 1)] as const
      return {
        definition: multiply([sides[0].definition, sides[1].definition]),
        variables: sides.flatMap(({ variables }) => variables),
      }
    },
  }),
)

/** The sum of two groups of columns, each by its factor. */
function weighted(units: number, ...factors: readonly [number, number]) {
  const kernel = diagonal(factors.map((factor) => new Float64Array(units).fill(factor)))
  return { definition: dense({ units }), variables: [kernel, { data: new Float64Array(units), shape: [units] }] }
}

export type Networks = ReadonlyMap<string, ImportedNetwork | ImportedCell>

/**
 * The networks of a file. In them each `Bidirectional` concatenates, or is two networks: another merge is a layer here, and so is a
 * convolutional LSTM.
 *
 * @param taken tensors of other layers
 */
export async function networksIn(file: OpenWeightFile, taken: ReadonlySet<StoredTensor>): Promise<Networks> {
  const text = JSON.stringify(file.kerasModel, (_, value) => {
    const { class_name: kind, config } = jsonRecord(value) ?? {}
    const own = jsonRecord(config)
    if (kind === 'Bidirectional' && own)
      return { ...value, config: { ...own, merge_mode: isOfTwoLayers(own) ? APART : 'concat' } }
    return typeof kind === 'string' && kind.startsWith('ConvLSTM') ? null : value
  })
  const tensors = file.tensors.filter((tensor) => !taken.has(tensor))
  const { networks, cells } = await importWeights({ ...file, tensors, kerasModel: JSON.parse(text) })
  return new Map([...networks, ...cells].map((each) => [each.name, each]))
}

export function recurrentLayers(backend: Backend, plan: RecurrentPlan, networks: Networks): Made[] {
  const { merge, steps = [] } = plan
  const layers = layersOf(backend, plan, networks)
  const all = merge === undefined ? layers : [...layers, assigning(backend, merge.definition, merge.variables)]
  return steps.reduce((inner, count) => [ofEachStep(inner, count)], all)
}

/** Layers that read each step, which is a sequence of so many. */
function ofEachStep(inner: readonly Made[], steps: number): Made {
  const definitions = inner.map(({ definition }) => definition)
  const assign = async ({ parts }: Layer) => {
    for (const [k, each] of inner.entries()) await each.assign?.(parts[k])
  }
  return { definition: timeDistributed(definitions, { steps }), assign }
}

function layersOf(backend: Backend, plan: RecurrentPlan, networks: Networks): Made[] {
  const { networkName, name, options, returnsSequences } = plan
  const sides = [networks.get(`${networkName}/forward`), networks.get(`${networkName}/backward`)]
  const network = networks.get(networkName)
  const chain = (each: ImportedNetwork | ImportedCell | undefined, own: { readonly name?: string }) => {
    return chainOfNetwork(backend, plan, each, own)
  }
  const held = plan.holds ? [{ definition: holdPadding() }] : []
  if (network !== undefined) return [...chain(network, name), ...held]
  if (sides.every((side) => side === undefined)) {
    throw options.refused('one network must compute it: importWeights imports its cells')
  }
  const branches = sides.map((side) => {
    const made = chain(side, {}).map(({ definition }) => definition)
    return side?.reverse === true && returnsSequences ? [...made, reverse()] : made
  })
  if (plan.holds) throw options.refused('its cells must not mask sequences in two directions')
  return [{ definition: concat(branches, name) }]
}

/** The layers of a network, in Keras' order of its output: reading order. */
function chainOfNetwork(
  backend: Backend,
  { options, inputSize: expected, returnsSequences }: RecurrentPlan,
  network: ImportedNetwork | ImportedCell | undefined,
  name: { readonly name?: string },
): Made[] {
  if (network === undefined) throw options.refused('both of its directions must be in the file')
  const inputSize = 'cell' in network ? network.inputSize : network.descriptor.inputSize
  if (inputSize !== expected) {
    throw options.refused(
      `its kernel must have ${expected} rows, as its input has columns: current number is ${inputSize}`,
    )
  }
  const before = network.reverse ? [{ definition: reverse() }] : []
  const after = returnsSequences ? [] : [{ definition: lastStep() }]
  return [
    ...before,
    { definition: 'cell' in network ? cellLayer(backend, network, name) : modelLayer(network, name) },
    ...after,
  ]
}

function modelLayer({ descriptor, canonical }: ImportedNetwork, name: { readonly name?: string }): LayerDefinition {
  // Layers of the chain reverse the input and the output of a network that reads from the end.
  return RECURRENT[descriptor.cellMode]({ network: { descriptor, canonical }, ...name })
}

function cellLayer(backend: Backend, network: ImportedCell, name: { readonly name?: string }): LayerDefinition {
  const { numUnits, options, variables, inputSize } = network
  const cell = new CELLS[network.cell](numUnits, {
    ...options,
    dtype: backend.dtype,
  } as never) as unknown as RNNCell<CellState>
  const values = Object.entries(variables).map(([own, tensor]) => [own, ofDtype(backend.dtype, tensor)] as const)
  cell.setVariables(Object.fromEntries(values))
  return rnn(cell, { inputSize, ...name })
}

function assigning(backend: Backend, definition: LayerDefinition, values: readonly Tensor<FloatArray>[]): Made {
  return { definition, assign: (layer) => assignAll(backend, [layer], values) }
}

export function assignAll(backend: Backend, layers: readonly Layer[], values: readonly Tensor<FloatArray>[]): void {
  const variables = layers.flatMap((layer) => layer.variables)
  for (const [index, value] of values.entries()) variables[index]?.assign(ofDtype(backend.dtype, value))
}
