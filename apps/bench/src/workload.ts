import { type CellMode, createRnnDescriptor, numDirections, numGates, type RnnDescriptor } from '@cudnn-rnn/canonical'

/** `training` is forward and backward with all gradients; `streaming` is T calls of one step each. */
export type Pass = 'inference' | 'training' | 'streaming'

/** One network and the batch it is given; I = H but in the space of sizes. */
export interface Workload {
  readonly cellMode: CellMode
  readonly numLayers: number
  readonly bidirectional: boolean
  /** B */
  readonly batch: number
  /** T */
  readonly time: number
  /** I */
  readonly inputSize: number
  /** H */
  readonly numUnits: number
}

/** The network of a workload, with an input matrix though I = H. */
export function workloadDescriptor({ bidirectional, ...sizes }: Omit<Workload, 'batch' | 'time'>): RnnDescriptor {
  return createRnnDescriptor({
    cellMode: sizes.cellMode,
    numLayers: sizes.numLayers,
    numUnits: sizes.numUnits,
    inputSize: sizes.inputSize,
    inputMode: 'linear_input',
    direction: bidirectional ? 'bidirectional' : 'unidirectional',
  })
}

/** Cells as tables and charts name them. */
export const CELL_TITLES = { lstm: 'LSTM', gru: 'GRU', rnn_relu: 'RNN relu', rnn_tanh: 'RNN tanh' } as const

/** "1 × 70 × 512" is B × T × H, as in the tables. */
export function sizesOf({ batch, time, numUnits }: Workload): string {
  return `${batch} × ${time} × ${numUnits}`
}

/**
 * Floating-point operations of the matrix products of one run, 2 for a multiplication and addition. Backward does those
 * of the forward twice: by data and by weights.
 */
export function workloadFlops(workload: Workload, pass: Pass): number {
  const descriptor = workloadDescriptor(workload)
  const directions = numDirections(descriptor)
  const { numLayers, inputSize, numUnits, batch, time } = workload
  const columns = inputSize + (numLayers - 1) * directions * numUnits + numLayers * numUnits
  const forward = 2 * time * batch * numGates(descriptor) * numUnits * columns * directions
  return pass === 'training' ? 3 * forward : forward
}
