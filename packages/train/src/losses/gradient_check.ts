import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import {
  checkOptions,
  codedRangeError,
  FUNCTION,
  integerFrom,
  OBJECT,
  type OptionsOf,
  oneOf,
  optional,
  POSITIVE,
} from '@cudnn-rnn/canonical/rules'
import { Philox } from '@cudnn-rnn/ops/executor'
import { checkFloats, type FloatTensor } from './axis_lines.js'

/** Tensors by their names. */
type NamedFloats<Name extends string> = Readonly<Record<Name, Tensor<FloatArray>>>

const OPTIONS = {
  /** Half the distance of the two points of a central difference; default 1e-5. Use about 1e-2 with float32 losses. */
  delta: optional(POSITIVE),
  /**
   * 'jacobian' (default) moves every element separately and can name the worst; 'directional' moves each input along one
   * random direction, two evaluations per input however large it is.
   */
  method: optional(oneOf(['jacobian', 'directional'])),
  /** Seed of the directions; default 0. */
  seed: optional(integerFrom(0)),
}

/** A scalar function of named tensors, and the gradients to check. */
interface GradientCheckOptions<Name extends string = string> extends OptionsOf<typeof OPTIONS> {
  /** The tensors at which the gradients are compared. */
  readonly inputs: NamedFloats<Name>
  /** The loss at the values that it is called with; called many times. */
  readonly loss: (inputs: NamedFloats<Name>) => number | Promise<number>
  /** The analytic gradient at `inputs`, for each input by name, in its shape. */
  readonly gradients: NamedFloats<Name>
}

/** The element (or input, for directional checks: index -1) where both gradients differ most. */
interface GradientMismatch {
  readonly input: string
  readonly index: number
  readonly numeric: number
  readonly analytic: number
  /** |numeric - analytic| */
  readonly error: number
}

type GradientCheckResult = {
  /** The largest absolute difference, as `tf.test.compute_gradient_error` returns it. */
  readonly maxError: number
  /** maxError divided by the largest magnitude of either gradient (0 when both are 0). */
  readonly maxRelativeError: number
  readonly worst: GradientMismatch
}

/**
 * Compares analytic gradients with central differences, in the spirit of `tf.test.compute_gradient_error`.
 *
 * @throws RangeError `ERR_SHAPE` for a gradient that lacks or has another size than its input,
 *   `ERR_NOT_FINITE` for a loss that is not finite near the inputs, `ERR_INVALID_OPTION` for a delta that is not > 0
 * @example
 * ```ts
 * import { checkGradients } from '@cudnn-rnn/rnn/train'
 *
 * // The loss Σ x², whose gradient is 2·x.
 * const x = { data: Float64Array.of(1, -2), shape: [2] }
 * const { maxError } = await checkGradients({
 *   inputs: { x },
 *   loss: (inputs) => [...inputs.x.data].reduce((sum, value) => sum + value ** 2, 0),
 *   gradients: { x: { data: Float64Array.of(2, -4), shape: [2] } },
 * })
 * console.log(maxError < 1e-8) // true
 * ```
 */
export function checkGradients<Name extends string>(options: GradientCheckOptions<Name>): Promise<GradientCheckResult>
export async function checkGradients(options: GradientCheckOptions): Promise<GradientCheckResult> {
  const given = checkOptions('check gradients', options, {
    inputs: OBJECT,
    loss: FUNCTION,
    gradients: OBJECT,
    ...OPTIONS,
  })
  const { delta = 1e-5, method = 'jacobian', seed = 0, loss } = given
  const { inputs, gradients } = checkSizes(given)
  let worst: GradientMismatch = { input: '', index: -1, numeric: 0, analytic: 0, error: -1 }
  let magnitude = 0
  for (const [input, tensor] of Object.entries(inputs)) {
    const gradient = gradients[input].data
    const directions =
      method === 'jacobian' ? unitDirections(tensor.data.length) : randomDirection(tensor.data.length, seed)
    for (const { index, along } of directions) {
      const numeric = await slope({ inputs, loss }, input, along, delta)
      const analytic = along.reduce((sum, [k, length]) => sum + length * gradient[k], 0)
      const error = Math.abs(numeric - analytic)
      magnitude = Math.max(magnitude, Math.abs(numeric), Math.abs(analytic))
      if (error > worst.error || Number.isNaN(error)) worst = { input, index, numeric, analytic, error }
      if (Number.isNaN(error)) return { maxError: error, maxRelativeError: error, worst }
    }
  }
  const maxError = Math.max(0, worst.error)
  return { maxError, maxRelativeError: magnitude === 0 ? 0 : maxError / magnitude, worst }
}

/** Steps of a direction: [element, length]. */
type Direction = readonly (readonly [number, number])[]

function* unitDirections(size: number): Generator<{ index: number; along: Direction }> {
  for (let index = 0; index < size; index++) yield { index, along: [[index, 1]] }
}

/** A direction of unit length, its elements all of one size and of random sign. */
function* randomDirection(size: number, seed: number): Generator<{ index: number; along: Direction }> {
  const random = new Philox(seed)
  const length = 1 / Math.sqrt(size)
  const along = Array.from({ length: size }, (_, k) => [k, random.uniform() < 0.5 ? length : -length] as const)
  if (size > 0) yield { index: -1, along }
}

async function slope(
  { inputs, loss }: Pick<GradientCheckOptions, 'inputs' | 'loss'>,
  input: string,
  along: Direction,
  delta: number,
): Promise<number> {
  const at = async (sign: number) => {
    const { data, shape } = inputs[input]
    const moved = data.slice() as FloatArray
    for (const [k, length] of along) moved[k] += sign * delta * length
    const value = await loss({ ...inputs, [input]: { data: moved, shape } })
    if (Number.isFinite(value)) return { value, moved }
    throw codedRangeError(
      'ERR_NOT_FINITE',
      `Cannot check gradients as the loss must be finite near ${input}: current value is ${value}`,
      { input, value },
    )
  }
  const above = await at(1)
  const below = await at(-1)
  // The difference after rounding to the element type, not the requested one.
  const [k, length] = along[0]
  const distance = (above.moved[k] - below.moved[k]) / length
  return (above.value - below.value) / distance
}

/** The tensors as they were read here, once. */
function checkSizes({ inputs, gradients }: Pick<GradientCheckOptions, 'inputs' | 'gradients'>) {
  const own = { inputs: {} as Record<string, FloatTensor>, gradients: {} as Record<string, FloatTensor> }
  for (const [input, tensor] of Object.entries(inputs)) {
    const { data, shape } = checkFloats('check gradients', `inputs.${input}`, tensor)
    own.inputs[input] = { data, shape }
    const gradient = gradients[input]
    if (gradient) own.gradients[input] = checkFloats('check gradients', `gradients.${input}`, gradient)
    const actual = own.gradients[input]?.data.length
    if (actual === data.length) continue
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot check gradients as that of ${input} must have ${data.length} elements: current number is ${actual ?? 'none'}`,
      { argument: input, expected: data.length, actual },
    )
  }
  return own
}
