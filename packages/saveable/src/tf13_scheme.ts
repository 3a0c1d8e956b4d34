import {
  type FrameworkLayout,
  gatesOf,
  type Placement,
  type RnnDescriptor,
  tensorflowLayout,
} from '@cudnn-rnn/canonical'
import { cellScheme } from './cell_scheme.js'
import type { KeyScheme } from './key_scheme.js'
import { tf12Scheme } from './region_scheme.js'

/** The tensors that hold a layer's input-side and recurrent biases beside their sum. The space in GRU's is TensorFlow's. */
const BIAS_TENSORS = { lstm: ['bias_cudnn_0', 'bias_cudnn_1'], gru: ['bias_cudnn 0', 'bias_cudnn 1'] } as const

/** The bias of TensorFlow's cell that holds several gates. */
const FUSED_BIAS = { lstm: 'bias', gru: 'gates/bias' } as const

/**
 * Keys of TensorFlow 1.3 for unidirectional LSTM and GRU: `[<scope>/]multi_rnn_cell/cell_<l>/cudnn_compatible_…_cell/…`,
 * the variables of its CPU cells and, so that nothing is lost, the two biases of the fused gates beside their sum.
 * Everything else is saved as by 1.2.
 */
export function tf13Scheme(name: string, defaultName: string): KeyScheme {
  const fallback = tf12Scheme(name, defaultName)
  const scope = name === defaultName ? '' : `${name}/`
  const cells = cellScheme(
    ({ numLayers, cellMode }) =>
      Array.from(
        { length: numLayers },
        (_, layer) => `${scope}multi_rnn_cell/cell_${layer}/cudnn_compatible_${cellMode}_cell`,
      ),
    separateBiases,
  )
  const of = (descriptor: RnnDescriptor) => (modeOf(descriptor) === undefined ? fallback : cells)
  return {
    anyShape: true,
    shapes: (descriptor) => of(descriptor).shapes(descriptor),
    parts: (descriptor) => of(descriptor).parts(descriptor),
    fromKeys: (descriptor, tensors) => of(descriptor).fromKeys(descriptor, tensors),
  }
}

function modeOf({ cellMode, direction, numProj }: RnnDescriptor): 'lstm' | 'gru' | undefined {
  if (direction === 'bidirectional' || numProj !== undefined) return undefined
  return cellMode === 'lstm' || cellMode === 'gru' ? cellMode : undefined
}

/** TensorFlow's cells with a tensor for each side in place of the fused bias, which is their sum. */
function separateBiases(descriptor: RnnDescriptor): FrameworkLayout {
  const mode = modeOf(descriptor) ?? 'lstm'
  const fused = FUSED_BIAS[mode]
  const gates = gatesOf(mode).length
  const { framework, groups } = tensorflowLayout(descriptor)
  const sideOf = (placement: Placement, index: number) =>
    placement.tensor === fused ? { ...placement, tensor: BIAS_TENSORS[mode][index < gates ? 0 : 1] } : placement
  return {
    framework,
    groups: groups.map(({ shapes, weights, biases }) => {
      const { [fused]: shape = [], ...others } = shapes
      const sides = Object.fromEntries(BIAS_TENSORS[mode].map((tensor) => [tensor, shape] as const))
      return { shapes: { ...others, ...sides }, weights, biases: biases.map(sideOf) }
    }),
  }
}
