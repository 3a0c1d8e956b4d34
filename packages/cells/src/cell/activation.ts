import { either, FINITE, keyOf, optional, optionFields, where } from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import { CELL_ACTIVATIONS, type CellActivation, type CellActivationName } from '@cudnn-rnn/canonical'
import type { ActivationName, ElementwiseFunction } from '@cudnn-rnn/ops/executor'
import { newArray } from './float_tensor.js'

const NAME = keyOf(CELL_ACTIVATIONS)
const PARAMETERS = ['alpha', 'beta'] as const

export const ACTIVATION = optional<CellActivation>(
  either(
    NAME,
    where(
      optionFields({ name: NAME, alpha: optional(FINITE), beta: optional(FINITE) }),
      'an activation with the parameters that it has',
      (given) => {
        const has = CELL_ACTIVATIONS[given.name].length
        return PARAMETERS.every((parameter, place) => place < has || given[parameter] === undefined)
      },
    ),
  ),
)

/** An activation as executors compute it: `operation` of scale·x + shift, or that argument itself. */
interface ExecutorActivation {
  readonly operation?: Exclude<ActivationName, 'softmax'>
  /** Maximum of `relu`. */
  readonly maximum?: number
  readonly scale?: number
  readonly shift?: number
}

const OPERATIONS: Readonly<
  Partial<Record<CellActivationName, (alpha: number, beta: number) => ExecutorActivation | undefined>>
> = {
  tanh: () => ({ operation: 'tanh' }),
  sigmoid: () => ({ operation: 'sigmoid' }),
  relu: () => ({ operation: 'relu' }),
  relu6: () => ({ operation: 'relu', maximum: 6 }),
  elu: (alpha) => (alpha === 1 ? { operation: 'elu' } : undefined),
  softplus: () => ({ operation: 'softplus' }),
  hard_sigmoid: (scale, shift) => ({ operation: 'relu', maximum: 1, scale, shift }),
  affine: (scale, shift) => ({ scale, shift }),
  linear: () => ({}),
}

/** How executors compute an activation; undefined for one of which they have no operations. */
export function executorActivation(activation: CellActivation): ExecutorActivation | undefined {
  const { name, alpha, beta } = typeof activation === 'string' ? { name: activation } : activation
  const [defaultAlpha = 0, defaultBeta = 0]: readonly number[] = CELL_ACTIVATIONS[name]
  return OPERATIONS[name]?.(alpha ?? defaultAlpha, beta ?? defaultBeta)
}

/**
 * A function whose slope follows from its result, of an argument bounded to [-clip, clip]; if the bound holds, the slope
 * is 0. Source: the attribute `clip` of ONNX's recurrent operators (onnx/defs/rnn/defs.cc), as ONNX Runtime computes it.
 *
 * @param clip Infinity for none.
 * @param dtype of the results passed to `slope`: those at the bound compare equal to it.
 */
export function ofBoundedArgument(f: ElementwiseFunction, clip: number, dtype: FloatDType): ElementwiseFunction {
  if (clip === Number.POSITIVE_INFINITY) return f
  const bounds = newArray(dtype, 2)
  bounds.set([f.value(-clip), f.value(clip)].sort((a, b) => a - b))
  const [lowest, highest] = [bounds[0], bounds[1]]
  return {
    value: (x) => f.value(Math.min(clip, Math.max(-clip, x))),
    slope: (y) => (y <= lowest || y >= highest ? 0 : f.slope(y)),
  }
}
