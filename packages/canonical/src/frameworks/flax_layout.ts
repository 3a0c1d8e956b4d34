import type { GateName } from '../cell_mode.js'
import { layerInputSize, numDirections } from '../dimensions.js'
import type { GateRegion, ParamRegion } from '../param_regions.js'
import { checkDescriptor, type RnnDescriptor } from '../rnn_descriptor.js'
import type { CanonicalParams, FloatArray } from '../tensor.js'
import { type FrameworkLayout, frameworkLayout, rowsAt, transposedAt } from './framework_layout.js'
import { canonicalToFramework, frameworkToCanonical, type NamedTensors } from './framework_tensors.js'

/** Flax's letter of each gate; a plain RNN's gate has none. */
const LETTERS: Readonly<Record<GateName, string>> = {
  input: 'i',
  forget: 'f',
  new_memory: 'g',
  output: 'o',
  reset: 'r',
  update: 'z',
  hidden: '',
}

/**
 * The parameters of Flax's cells, one record per pseudo-layer: for each gate `i<gate>/kernel` [in,H] and `h<gate>/kernel`
 * [H,H], each the canonical matrix transposed, and few biases [H]:
 *
 * - `LSTMCell`, `OptimizedLSTMCell`: gates i,f,g,o; `h<gate>/bias` is the sum of the canonical two.
 * - `GRUCell`: gates r,z,n; `ir/bias` and `iz/bias` are sums, `in/bias` and `hn/bias` the two of the new memory.
 * - `SimpleCell`: `i/kernel`, `h/kernel`, `i/bias`, the sum.
 *
 * Source: flax/linen/recurrent.py.
 *
 * @throws RangeError `ERR_UNSUPPORTED_BY_FRAMEWORK`
 */
export function flaxLayout(descriptor: RnnDescriptor): FrameworkLayout {
  checkDescriptor(descriptor)
  const { cellMode, numUnits: H } = descriptor
  const letter = (gate: GateName) => (cellMode === 'gru' && gate === 'new_memory' ? 'n' : LETTERS[gate])
  const side = (region: ParamRegion) => (region.side === 'input' ? 'i' : 'h')
  const biasSide = (region: ParamRegion) => {
    if (cellMode === 'lstm') return 'h'
    return cellMode === 'gru' && region.gate === 'new_memory' ? side(region) : 'i'
  }
  const place = (region: GateRegion) => {
    const own = letter(region.gate)
    if (region.kind === 'bias') return rowsAt(`${biasSide(region)}${own}/bias`, 0, region)
    return transposedAt(`${side(region)}${own}/kernel`, 0, H, region)
  }
  const shapes = (pseudoLayer: number) => {
    const input = layerInputSize(descriptor, Math.floor(pseudoLayer / numDirections(descriptor)))
    const gates = cellMode === 'lstm' ? ['i', 'f', 'g', 'o'] : cellMode === 'gru' ? ['r', 'z', 'n'] : ['']
    const biases =
      cellMode === 'lstm' ? ['hi', 'hf', 'hg', 'ho'] : cellMode === 'gru' ? ['ir', 'iz', 'in', 'hn'] : ['i']
    return Object.fromEntries([
      ...gates.map((gate) => [`i${gate}/kernel`, [input, H]] as const),
      ...gates.map((gate) => [`h${gate}/kernel`, [H, H]] as const),
      ...biases.map((bias) => [`${bias}/bias`, [H]] as const),
    ])
  }
  return frameworkLayout(descriptor, { framework: 'flax', pseudoLayersPerGroup: 1, shapes, place })
}

/**
 * Canonical parameters as Flax's cells have them ({@link flaxLayout}); lossy: biases are summed.
 *
 * @example
 * ```ts
 * import { canonicalToFlax, createRnnDescriptor, flatLayout, unpackCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 4, inputSize: 3 })
 * const layout = flatLayout(descriptor)
 * const canonical = unpackCanonical(layout, new Float32Array(layout.size))
 * const [cell] = canonicalToFlax(descriptor, canonical)
 * console.log(cell?.['ii/kernel']?.shape, cell?.['hf/bias']?.shape) // [3, 4] [4]
 * ```
 */
export function canonicalToFlax<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  canonical: CanonicalParams<Data>,
): NamedTensors<Data>[] {
  return canonicalToFramework(descriptor, flaxLayout(descriptor), canonical)
}

/**
 * Canonical parameters from the variables of Flax's cells; each canonical bias gets half of a summed one.
 *
 * @example
 * ```ts
 * import { createRnnDescriptor, flaxToCanonical } from '@cudnn-rnn/rnn/canonical'
 *
 * const size = { numLayers: 1, numUnits: 1, inputSize: 1 }
 * const descriptor = createRnnDescriptor({ cellMode: 'rnn_tanh', inputMode: 'linear_input', ...size })
 * const scalar = (value: number, shape: readonly number[]) => ({ data: Float32Array.of(value), shape })
 * const cell = { 'i/kernel': scalar(2, [1, 1]), 'i/bias': scalar(6, [1]), 'h/kernel': scalar(5, [1, 1]) }
 * const { weights, biases } = flaxToCanonical(descriptor, [cell])
 * console.log(weights[1]?.data, biases[0]?.data, biases[1]?.data) // [5] [3] [3]
 * ```
 */
export function flaxToCanonical<Data extends FloatArray>(
  descriptor: RnnDescriptor,
  cells: readonly NamedTensors<Data>[],
): CanonicalParams<Data> {
  return frameworkToCanonical(descriptor, flaxLayout(descriptor), cells)
}
