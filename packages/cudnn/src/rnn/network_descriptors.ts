import { numPseudoLayers, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { CommandList } from '../device/command_list.js'
import type { Arithmetic } from '../device/precision.js'
import {
  ALGORITHMS,
  type Algorithm,
  BIAS_MODE_NUMBERS,
  CELL_MODE_NUMBERS,
  DIRECTION_NUMBERS,
  INPUT_MODE_NUMBERS,
  PADDED_IO_DISABLED,
  PADDED_IO_ENABLED,
} from '../sys/cudnn_enums.js'
import type { DropoutDescriptor, RnnDescriptorId } from '../sys/native_addon.js'

/** The one place where a network's description becomes cuDNN's. */
export function setRnnDescriptor(
  list: CommandList,
  descriptor: RnnDescriptorId,
  network: RnnDescriptor,
  options: {
    readonly arithmetic: Arithmetic
    readonly algorithm: Algorithm
    readonly dropout: DropoutDescriptor | null
    /** Rows of unequal length need it; rows of T steps do without, and without the copies it makes of x and y. */
    readonly hasPaddedIo: boolean
  },
): void {
  const { arithmetic, algorithm, dropout, hasPaddedIo } = options
  list.add('setRnnDescriptor', {
    descriptor,
    algo: ALGORITHMS[algorithm],
    cellMode: CELL_MODE_NUMBERS[network.cellMode],
    biasMode: BIAS_MODE_NUMBERS[network.biasMode],
    dirMode: DIRECTION_NUMBERS[network.direction],
    inputMode: INPUT_MODE_NUMBERS[network.inputMode],
    dataType: arithmetic.dataType,
    mathPrec: arithmetic.mathPrecision,
    mathType: arithmetic.mathType,
    inputSize: network.inputSize,
    hiddenSize: network.numUnits,
    // cuDNN has no value for "no projection": it is off if projSize equals hiddenSize.
    projSize: network.numProj ?? network.numUnits,
    numLayers: network.numLayers,
    dropout,
    auxFlags: hasPaddedIo ? PADDED_IO_ENABLED : PADDED_IO_DISABLED,
    clip: network.cellClip,
  })
}

/** Largest H that the persistent kernels take: cuDNN 9.24's own checks. */
const SMALL_H_LIMIT = { plain: 384, gated: 192 } as const
const PERSIST_STATIC_LIMIT = { plain: 2560, gated: 1536 } as const

/**
 * The algorithms that cuDNN accepts for this network and rows of equal or unequal length; `standard` is always first.
 * `persist_dynamic` compiles kernels per batch size and crashed for others: it is never tried unasked.
 */
export function legalAlgorithms(
  network: RnnDescriptor,
  { precision }: Arithmetic,
  hasUnequalRows: boolean,
): readonly Algorithm[] {
  // cuDNN refuses persistent algorithms with a projection, with a bias mode other than double, for float64, and for rows
  // of unequal length.
  const canPersist =
    !hasUnequalRows && network.biasMode === 'double' && network.numProj === undefined && precision !== 'float64'
  if (!canPersist) return ['standard']
  const kind = network.cellMode === 'lstm' || network.cellMode === 'gru' ? 'gated' : 'plain'
  const algorithms: Algorithm[] = ['standard']
  if (network.numUnits <= PERSIST_STATIC_LIMIT[kind]) algorithms.push('persist_static')
  if (network.numUnits <= SMALL_H_LIMIT[kind]) algorithms.push('persist_static_small_h')
  return algorithms
}

/**
 * The algorithms that are timed against each other: of the legal ones, static persistent kernels only in the shapes in
 * which others run them. A kernel that fails on the device, instead of being refused, would take the process with it.
 */
export function measuredAlgorithms(
  network: RnnDescriptor,
  arithmetic: Arithmetic,
  hasUnequalRows: boolean,
): readonly Algorithm[] {
  const isCommon = network.numUnits % 32 === 0 && network.numLayers === 1 && network.direction === 'unidirectional'
  return legalAlgorithms(network, arithmetic, hasUnequalRows).filter(
    (algorithm) => algorithm !== 'persist_static' || isCommon,
  )
}

/** True if dropout touches anything: it acts between layers, in training. */
export function hasDropout({ dropout, numLayers }: RnnDescriptor): boolean {
  return dropout > 0 && numLayers > 1
}

export function stateElements(network: RnnDescriptor, batch: number): { readonly h: number; readonly c: number } {
  const rows = numPseudoLayers(network) * batch
  return { h: rows * (network.numProj ?? network.numUnits), c: rows * network.numUnits }
}

/** Graphs of more steps of all pseudo-layers, each several nodes, take longer to instantiate than they ever save. */
const MOST_GRAPH_STEPS = 8192

/** Whether a pass has few enough steps to be captured. */
export function isGraphSized(network: RnnDescriptor, { time }: { readonly time: number }): boolean {
  return time * numPseudoLayers(network) <= MOST_GRAPH_STEPS
}
