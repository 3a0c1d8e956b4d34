import { describeValue, elementCount, type FloatArray, numPseudoLayers, type Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError } from './coded_error.js'
import type { FixedInputs, ImportedNetwork } from './networks/interpretation.js'

/**
 * The fixed inputs of a stack's networks, as the whole has them: states one after another, zeros for a network that begins
 * in zeros, and the lengths that all have.
 *
 * @throws RangeError `ERR_STACK` for states of unequal rows or columns, and for unequal lengths
 */
export function stackedInputs(networks: readonly ImportedNetwork[]): FixedInputs {
  const initialH = stackedStates(networks, 'initialH')
  const initialC = stackedStates(networks, 'initialC')
  const [first] = networks
  const lengths = first?.inputs?.sequenceLengths
  for (const { name, inputs } of networks) {
    if (String(inputs?.sequenceLengths) === String(lengths)) continue
    throw refused(`every network must have the sequenceLengths ${lengths}`, `${inputs?.sequenceLengths} of ${name}`)
  }
  return {
    ...(initialH !== undefined && { initialH }),
    ...(initialC !== undefined && { initialC }),
    ...(lengths !== undefined && { sequenceLengths: [...lengths] }),
  }
}

/** The states [L·D,B,·] of one kind; undefined if all networks begin in zeros. */
function stackedStates(
  networks: readonly ImportedNetwork[],
  kind: 'initialH' | 'initialC',
): Tensor<FloatArray> | undefined {
  const given = networks.flatMap(({ inputs }) => inputs?.[kind] ?? [])
  const [first] = given
  if (first === undefined) return undefined
  const sizes = first.shape.slice(1)
  const size = elementCount(sizes)
  const layers = networks.map(({ descriptor }) => numPseudoLayers(descriptor))
  const total = layers.reduce((sum, each) => sum + each, 0)
  const isDouble = given.every(({ data }) => data instanceof Float64Array)
  const data = isDouble ? new Float64Array(total * size) : new Float32Array(total * size)
  let layer = 0
  for (const [index, { name, inputs }] of networks.entries()) {
    const state = inputs?.[kind]
    const own = layers[index] ?? 0
    if (state !== undefined) {
      if (String(state.shape) !== String([own, ...sizes])) {
        throw refused(`the ${kind} of ${name} must have shape [${[own, ...sizes]}]`, `[${state.shape}]`)
      }
      data.set(state.data, layer * size)
    }
    layer += own
  }
  return { data, shape: [total, ...sizes] }
}

/** The error of networks that are not layers of one stack. */
export function refused(rule: string, value: unknown) {
  const message = `Cannot stack networks as ${rule}: current value is ${describeValue(value)}`
  return codedRangeError('ERR_STACK', message, { value })
}
