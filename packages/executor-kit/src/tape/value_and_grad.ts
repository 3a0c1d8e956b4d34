import { checkArguments, FUNCTION } from '@cudnn-rnn/arguments'
import type { BackendTensor } from '@cudnn-rnn/backend'
import { Recording } from './recording.js'
import { type GradientTape, handleOf } from './tape_handle.js'
import { Value } from './value.js'
import { backendOf, type GradientsOf, mapVariables, type Variables, variablesIn } from './variables.js'

/** A function of variables on a tape. */
type OnTape<Params, Rest extends readonly unknown[], Result> = (
  t: GradientTape,
  params: Params,
  ...rest: Rest
) => Result | Promise<Result>

/** The result of a function of {@link valueAndGrad}. */
export interface ValueAndGradients<Params> {
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
 * console.log((await value.read()).data, (await gradients.kernel.read()).data) // [1] [2, 2]
 * ```
 */
export function valueAndGrad<Params extends Variables, Rest extends readonly unknown[]>(
  f: OnTape<Params, Rest, Value>,
): (params: Params, ...rest: Rest) => Promise<ValueAndGradients<Params>> {
  const action = 'compute gradients'
  checkArguments(action, { f }, { f: FUNCTION })
  return (params, ...rest) =>
    recorded(action, params, true, async (recording): Promise<ValueAndGradients<Params>> => {
      const loss = await f(handleOf(recording), params, ...rest)
      await recording.differentiate(loss)
      const gradients = mapVariables(params, (variable) => recording.gradientOf(variable))
      // A cast: the compiler would follow the structure without end.
      return { value: recording.take(loss), gradients } as never
    })
}

/**
 * As {@link valueAndGrad}, without the value.
 *
 * @example
 * ```ts
 * import { openBackend, tensor, Variable } from '@cudnn-rnn/rnn'
 * import { grad } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const x = new Variable(backend, backend.tensor(tensor([3])), 'x')
 * const gradient = await grad((t, p: typeof x) => t.elementLoss(t.multiply(p, p), tensor([0]), 'absolute_error'))(x)
 * console.log((await gradient.read()).data) // [6]
 * ```
 */
export function grad<Params extends Variables, Rest extends readonly unknown[]>(
  f: OnTape<Params, Rest, Value>,
): (params: Params, ...rest: Rest) => Promise<GradientsOf<Params>> {
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
 * console.log((await y.read()).data, backend.stats().tensors) // [2, 30] 2
 * ```
 */
export function infer<Params extends Variables, Rest extends readonly unknown[], Result>(
  f: OnTape<Params, Rest, Result>,
): (params: Params, ...rest: Rest) => Promise<TensorsOf<Result>> {
  const action = 'infer'
  checkArguments(action, { f }, { f: FUNCTION })
  return (params, ...rest) =>
    recorded(action, params, false, async (recording) => {
      const result = await f(handleOf(recording), params, ...rest)
      return taken(recording, result) as TensorsOf<Result>
    })
}

/** Runs `body` on a recording; then all that it made and did not take out is disposed, after a failure too. */
async function recorded<Result>(
  action: string,
  params: Variables,
  isTraining: boolean,
  body: (recording: Recording) => Promise<Result>,
): Promise<Result> {
  const variables = variablesIn(action, params)
  const backend = backendOf(action, variables)
  const recording = new Recording(backend, variables, isTraining)
  const run = async () => {
    try {
      return await body(recording)
    } finally {
      await recording.end()
    }
  }
  return backend.steps === undefined ? run() : backend.steps.run(run)
}

function taken(recording: Recording, result: unknown): unknown {
  if (result instanceof Value || typeof result !== 'object' || result === null) return recording.take(result)
  if (Array.isArray(result)) return result.map((part) => taken(recording, part))
  return Object.fromEntries(Object.entries(result).map(([name, part]) => [name, taken(recording, part)]))
}
