import { checkArguments, FUNCTION } from '@cudnn-rnn/canonical/rules'
import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import { Recording } from './recording.js'
import { type GradientTape, handleOf } from './tape_handle.js'
import { isValue, type Value } from './value.js'
import {
  backendOf,
  type GradientsOf,
  mapVariables,
  type TapeVariable,
  type Variables,
  variablesIn,
} from './variables.js'

/** A function of variables on a tape. */
type OnTape<Params, Rest extends readonly unknown[], Result> = (
  t: GradientTape,
  params: Params,
  ...rest: Rest
) => Result | Promise<Result>

/** Variables of a function whose parameter has no type; the call's argument then types the gradients. */
// biome-ignore lint/suspicious/noExplicitAny: no other type has every member that the function may read.
type AnyVariables = any

/** The result of a function of {@link valueAndGrad}. */
export type ValueAndGradients<Params> = {
  /** Scalar. */
  readonly value: BackendTensor
  readonly gradients: GradientsOf<Params>
}

/**
 * The value of a scalar function and its gradients with respect to the variables in `params`. Variables that the function uses and that are not
 * in `params` are constants.
 *
 * @returns a function whose results are the caller's: the value, a scalar, and the gradients in the structure of `params`. It rejects
 *   with errors of `f`; RangeError `ERR_SHAPE` for a loss that is not a scalar, `ERR_NO_GRADIENT`, `ERR_SECOND_ORDER`,
 *   `ERR_TAPE_STALE`; TypeError `ERR_NOT_AWAITED`, `ERR_NOT_A_TENSOR`, `ERR_INVALID_ARGUMENT`, `ERR_FOREIGN_TENSOR`; then all
 *   that was made is disposed
 * @throws TypeError `ERR_INVALID_ARGUMENT`
 * @example
 * ```ts
 * import { openBackend, type Tensor, tensor, Variable, valueAndGrad } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const params = {
 *   kernel: new Variable(backend, backend.tensor(tensor([[1], [2]])), 'kernel'),
 *   bias: new Variable(backend, backend.zeros([1]), 'bias'),
 * }
 * const loss = valueAndGrad((t, p: typeof params, x: Tensor, targets: Tensor) =>
 *   t.elementLoss(t.linear(x, p.kernel, p.bias), targets, 'squared_error'),
 * )
 * const { value, gradients } = await loss(params, tensor([[1, 1]]), tensor([[2]]))
 * console.log(await value.data(), await gradients.kernel.data()) // [1] [2, 2]
 * ```
 */
export function valueAndGrad<Params extends Variables = AnyVariables, Rest extends readonly unknown[] = []>(
  f: OnTape<Params, Rest, Value>,
): <Given extends Params>(params: Given, ...rest: Rest) => Promise<ValueAndGradients<Given>> {
  const action = 'compute gradients'
  checkArguments(action, { f }, { f: FUNCTION })
  return <Given extends Params>(params: Given, ...rest: Rest) =>
    overVariables(action, params, async (backend, variables): Promise<ValueAndGradients<Given>> => {
      const made = await lossGradients(backend, variables, (t) => f(t, params, ...rest))
      const gradients = made.gradients.values()
      // A cast: the compiler would follow the structure without end.
      return { value: made.loss, gradients: mapVariables(params, () => gradients.next().value) } as never
    })
}

/**
 * Like {@link valueAndGrad}, without the value.
 *
 * @example
 * ```ts
 * import { openBackend, tensor, Variable } from '@cudnn-rnn/rnn'
 * import { grad } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const x = new Variable(backend, backend.tensor(tensor([3])), 'x')
 * const gradient = await grad((t, p: typeof x) => t.elementLoss(t.multiply(p, p), tensor([0]), 'absolute_error'))(x)
 * console.log(await gradient.data()) // [6]
 * ```
 */
export function grad<Params extends Variables = AnyVariables, Rest extends readonly unknown[] = []>(
  f: OnTape<Params, Rest, Value>,
): <Given extends Params>(params: Given, ...rest: Rest) => Promise<GradientsOf<Given>> {
  const both = valueAndGrad<Params, Rest>(f) as (params: Params, ...rest: Rest) => Promise<unknown>
  return (params, ...rest) => both(params, ...rest).then(gradientsAlone) as never
}

function gradientsAlone(result: unknown): unknown {
  const { value, gradients } = result as ValueAndGradients<unknown>
  value.dispose()
  return gradients
}

/** A structure of values as one of tensors. */
type TensorsOf<Result> = Result extends Value
  ? BackendTensor
  : { readonly [Name in keyof Result]: TensorsOf<Result[Name]> }

/**
 * The result of a function on a tape without gradients: nothing is recorded, dropout drops nothing, and each scope frees the values that it
 * does not return.
 *
 * @returns a function whose results are the caller's: tensors in the place of the values that `f` returns
 * @throws as {@link valueAndGrad}
 * @example
 * ```ts
 * import { openBackend, tensor, Variable } from '@cudnn-rnn/rnn'
 * import { infer } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const scale = new Variable(backend, backend.tensor(tensor([2, 3])), 'scale')
 * const scaled = infer((t, p: typeof scale) => t.multiply(p, tensor([1, 10])))
 * const y = await scaled(scale)
 * console.log(await y.data(), backend.stats().tensors) // [2, 30] 2
 * ```
 */
export function infer<Params extends Variables = AnyVariables, Rest extends readonly unknown[] = [], Result = unknown>(
  f: OnTape<Params, Rest, Result>,
): (params: Params, ...rest: Rest) => Promise<TensorsOf<Result>> {
  const action = 'infer'
  checkArguments(action, { f }, { f: FUNCTION })
  return (params, ...rest) =>
    overVariables(action, params, (backend) =>
      onTape(new Recording(backend, [], false), async (t) => {
        const result = await f(t, params, ...rest)
        return taken(t.recording, result) as TensorsOf<Result>
      }),
    )
}

/** Calls `body` with the variables of `params` and their executor, as one step where the executor has steps. */
async function overVariables<Result>(
  action: string,
  params: Variables,
  body: (backend: Backend, variables: readonly TapeVariable[]) => Promise<Result>,
): Promise<Result> {
  const variables = variablesIn(action, params)
  const backend = backendOf(action, variables)
  const run = () => body(backend, variables)
  return backend.steps === undefined ? run() : backend.steps.run(run)
}

/** Runs `body` on a tape; then all that it made and did not take out is disposed, after a failure too. */
export async function onTape<Result>(
  recording: Recording,
  body: (t: GradientTape) => Promise<Result>,
): Promise<Result> {
  try {
    return await body(handleOf(recording))
  } finally {
    await recording.end()
  }
}

/**
 * The value of a loss and its gradients with respect to `variables`, in their order; the caller's.
 *
 * @throws as {@link Recording.differentiate} and {@link Recording.take}; errors of `loss`
 */
export function lossGradients(
  backend: Backend,
  variables: readonly TapeVariable[],
  loss: (t: GradientTape) => unknown,
): Promise<{ readonly loss: BackendTensor; readonly gradients: readonly BackendTensor[] }> {
  return onTape(new Recording(backend, variables), async (t) => {
    const { recording } = t
    const result = await loss(t)
    await recording.differentiate(result)
    const [value, ...gradients] = recording.take([result], variables)
    return { loss: value, gradients }
  })
}

/** The structure of `result` with tensors in the place of its values. */
function taken(recording: Recording, result: unknown): unknown {
  const values: unknown[] = []
  mapResult(result, (value) => values.push(value))
  const tensors = recording.take(values).values()
  return mapResult(result, () => tensors.next().value)
}

function mapResult(result: unknown, make: (value: unknown) => unknown): unknown {
  if (isValue(result) || typeof result !== 'object' || result === null) return make(result)
  if (Array.isArray(result)) return result.map((part) => mapResult(part, make))
  return Object.fromEntries(Object.entries(result).map(([name, part]) => [name, mapResult(part, make)]))
}
