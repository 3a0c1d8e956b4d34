import {
  type CanonicalParams,
  type CellActivation,
  type CellMode,
  canonicalToTensorflow,
  createRnnDescriptor,
  type FloatArray,
  type NamedTensors,
  numDirections,
  numGates,
  ONNX_PEEPHOLES,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { entryOf, required, zerosLike } from '@cudnn-rnn/canonical/rules'
import type { FixedInputs, ImportedCell, ImportedCellOptions } from './interpretation.js'

/** The activations of a cell, those alone that are not its model's. */
export type OtherActivations = Pick<ImportedCellOptions, 'activation' | 'recurrentActivation' | 'stateActivation'>

/** Features that the models lack; at least one is present. */
export interface Differences {
  /** A GRU that resets before the product. */
  readonly resetBefore: boolean
  /** [D,3·H] in ONNX's order. */
  readonly peepholes: FloatArray | undefined
  /** Bound of the inputs of activations. */
  readonly clip: number | undefined
  /** Each direction's; undefined if all are the model's. */
  readonly activations: readonly OtherActivations[] | undefined
}

/** The differences of one direction. */
interface OwnDifferences extends Omit<Differences, 'activations'> {
  readonly activations: OtherActivations
}

/** The cell that computes one layer of `descriptor` with `differences`, one for each direction. */
export function cellsOf(
  descriptor: RnnDescriptor,
  canonical: CanonicalParams,
  differences: Differences,
  common: Omit<ImportedCell, 'cell' | 'options' | 'variables' | 'inputSize' | 'numUnits'>,
): ImportedCell[] {
  const { numUnits, inputSize } = descriptor
  const directions = numDirections(descriptor)
  const perDirection = 2 * numGates(descriptor)
  const single = createRnnDescriptor({ ...descriptor, direction: 'unidirectional' })
  return Array.from({ length: directions }, (_, direction) => {
    const part = <Item>(list: readonly Item[]) => list.slice(direction * perDirection, (direction + 1) * perDirection)
    const own = { weights: part(canonical.weights), biases: part(canonical.biases) }
    const peepholes = differences.peepholes?.subarray(direction * 3 * numUnits, (direction + 1) * 3 * numUnits)
    return {
      ...common,
      ...CELLS[descriptor.cellMode](single, own, {
        ...differences,
        peepholes,
        activations: differences.activations?.[direction] ?? {},
      }),
      inputs: inputsOf(common.inputs, direction, directions),
      name: directions === 1 ? common.name : `${common.name}/${direction === 0 ? 'forward' : 'backward'}`,
      inputSize,
      numUnits,
      reverse: common.reverse || direction === 1,
    }
  })
}

/** States [D,B,H] of both directions as [1,B,H] of one. */
function inputsOf(inputs: FixedInputs, direction: number, directions: number): FixedInputs {
  const side = (state: Tensor<FloatArray> | undefined): Tensor<FloatArray> | undefined => {
    if (state === undefined) return undefined
    const size = state.data.length / directions
    return { data: state.data.slice(direction * size, (direction + 1) * size), shape: [1, ...state.shape.slice(1)] }
  }
  const [initialH, initialC] = [side(inputs.initialH), side(inputs.initialC)]
  return { ...inputs, ...(initialH && { initialH }), ...(initialC && { initialC }) }
}

type CellOf = (
  descriptor: RnnDescriptor,
  own: CanonicalParams,
  differences: OwnDifferences,
) => Pick<ImportedCell, 'cell' | 'options' | 'variables'>

const CELLS: Readonly<Record<CellMode, CellOf>> = {
  lstm: (descriptor, own, { peepholes, clip, activations }) => {
    const usePeephole = peepholes !== undefined
    const variables = { ...variablesOf(descriptor, own), ...diagonals(descriptor, peepholes) }
    const options = { forgetBias: 0, ...bounded(clip) } as const
    return Object.keys(activations).length > 0
      ? { cell: 'LSTMCell', options: { ...options, usePeepholes: usePeephole, ...activations }, variables }
      : { cell: 'LSTMBlockCell', options: { ...options, usePeephole }, variables }
  },
  gru: (descriptor, own, { resetBefore, clip, activations }) => {
    const options = { ...bounded(clip), ...activations }
    return resetBefore
      ? { cell: 'GRUBlockCell', options, variables: gruBlockVariables(descriptor, own) }
      : { cell: 'CudnnCompatibleGRUCell', options, variables: variablesOf(descriptor, own) }
  },
  rnn_tanh: plain('tanh'),
  rnn_relu: plain('relu'),
}

function plain(activation: CellActivation): CellOf {
  return (descriptor, own, { clip, activations }) => ({
    cell: 'BasicRNNCell',
    options: { activation, ...activations, ...bounded(clip) },
    variables: variablesOf(descriptor, own),
  })
}

function bounded(clip: number | undefined): Pick<ImportedCellOptions, 'preactivationClip'> {
  return clip === undefined ? {} : { preactivationClip: clip }
}

/** The variables of the cells that a layer of the models is compatible with. */
function variablesOf(descriptor: RnnDescriptor, own: CanonicalParams): NamedTensors {
  return required(
    canonicalToTensorflow(descriptor, own as CanonicalParams<FloatArray>)[0],
    'the layout of TensorFlow has one group for each layer',
  )
}

function diagonals({ numUnits: H }: RnnDescriptor, peepholes: FloatArray | undefined): NamedTensors {
  if (peepholes === undefined) return {}
  const named = ONNX_PEEPHOLES.map((gate, index) => {
    return [`w_${gate[0]}_diag`, { data: peepholes.slice(index * H, (index + 1) * H), shape: [H] }] as const
  })
  return Object.fromEntries(named)
}

/** `w_ru` [in+H,2H], `b_ru`, `w_c` [in+H,H], `b_c`; the two biases of a gate are added. */
function gruBlockVariables(descriptor: RnnDescriptor, own: CanonicalParams): NamedTensors {
  const variables = new Map(Object.entries(variablesOf(descriptor, own)))
  const candidate = (side: 'input' | 'hidden', name: 'kernel' | 'bias') =>
    entryOf(variables, `candidate/${side}_projection/${name}`)
  const [above, below] = [candidate('input', 'kernel'), candidate('hidden', 'kernel')]
  const kernel = zerosLike(above.data, above.data.length + below.data.length)
  kernel.set(above.data)
  kernel.set(below.data, above.data.length)
  const { data: addend } = candidate('hidden', 'bias')
  const { data, shape } = candidate('input', 'bias')
  return {
    w_ru: entryOf(variables, 'gates/kernel'),
    b_ru: entryOf(variables, 'gates/bias'),
    w_c: { data: kernel, shape: [descriptor.inputSize + descriptor.numUnits, descriptor.numUnits] },
    b_c: { data: data.map((value, unit) => value + (addend[unit] ?? 0)), shape },
  }
}
