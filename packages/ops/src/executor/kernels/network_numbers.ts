import type { RnnDescriptor } from '@cudnn-rnn/canonical'

/** Cell modes in the order of `Cell` in native/cpu/src/kernels/kernels.h. */
const CELLS: readonly RnnDescriptor['cellMode'][] = ['lstm', 'gru', 'rnn_relu', 'rnn_tanh']

/** A network as the kernels take it, in the order of `NetworkOptions` in native/cpu/src/weights/network.h. */
export function networkNumbers(descriptor: RnnDescriptor): Float64Array {
  const { biasMode, cellClip, cellMode, direction, dropout, inputMode, inputSize } = descriptor
  const { numLayers, numProj, numUnits, seed } = descriptor
  return Float64Array.of(
    ...[CELLS.indexOf(cellMode), numLayers, direction === 'bidirectional' ? 2 : 1, numUnits, inputSize, numProj ?? 0],
    Number(inputMode === 'skip_input'),
    Number(biasMode === 'double' || biasMode === 'single_input'),
    Number(biasMode === 'double' || biasMode === 'single_recurrent'),
    ...[cellClip ?? Number.POSITIVE_INFINITY, dropout, seed],
  )
}
