import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError, codedTypeError, hasMember } from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendTensor, isBackendTensor } from '@cudnn-rnn/ops'
import { isValue } from './value.js'

/** A tensor that a tape may differentiate: `Variable` of the models. */
export interface TapeVariable {
  readonly name: string
  readonly value: BackendTensor
  readonly backend?: Backend
}

/** Variables in any structure: one, a list, an object of either. */
export type Variables = TapeVariable | readonly Variables[] | { readonly [name: string]: Variables }

/** Tensors in any structure. */
type Tensors = BackendTensor | readonly Tensors[] | { readonly [name: string]: Tensors }

/** A structure of variables as one of tensors. */
export type GradientsOf<Params> = Variables extends Params
  ? Tensors
  : Params extends TapeVariable
    ? BackendTensor
    : { readonly [Name in keyof Params]: GradientsOf<Params[Name]> }

export function isVariable(value: unknown): value is TapeVariable {
  return hasMember(value, 'value') && isBackendTensor((value as { readonly value: unknown }).value)
}

/**
 * The variables of a structure, in its order.
 *
 * @throws RangeError `ERR_SECOND_ORDER` for a value of a tape; TypeError `ERR_INVALID_ARGUMENT` for anything else
 */
export function variablesIn(action: string, params: unknown, path = 'params'): TapeVariable[] {
  if (isVariable(params)) return [params]
  if (isValue(params)) {
    throw codedRangeError(
      'ERR_SECOND_ORDER',
      `Cannot ${action} as ${path} must be a variable, not a value of a tape: gradients have no gradients`,
      { argument: path },
    )
  }
  const isStructure = typeof params === 'object' && params !== null && !isBackendTensor(params) && !('data' in params)
  if (isStructure) {
    return Object.entries(params).flatMap(([name, part]) => variablesIn(action, part, `${path}.${name}`))
  }
  throw codedTypeError(
    'ERR_INVALID_ARGUMENT',
    `Cannot ${action} as ${path} must be a variable, or a list or object of variables: current value is ${describeValue(params)}`,
    { argument: path },
  )
}

/** The structure of `params` with `make` of each variable in its place. */
export function mapVariables(params: unknown, make: (variable: TapeVariable) => unknown): unknown {
  if (isVariable(params)) return make(params)
  if (Array.isArray(params)) return params.map((part) => mapVariables(part, make))
  const entries = Object.entries(params as object)
  return Object.fromEntries(entries.map(([name, part]) => [name, mapVariables(part, make)]))
}

/**
 * Throws TypeError `ERR_INVALID_OPTION_TYPE` for a function of the caller that made none, and RangeError `ERR_INVALID_OPTION` for
 * an optimizer of other variables than `variables`, which would stay as they are; it is disposed unless it is the caller's.
 */
export function checkOptimizes(
  action: string,
  optimizer: ({ readonly variables?: readonly TapeVariable[] } & Disposable) | undefined,
  variables: readonly TapeVariable[],
  isCallers: boolean,
): void {
  if (typeof optimizer?.[Symbol.dispose] !== 'function') {
    throw codedTypeError(
      'ERR_INVALID_OPTION_TYPE',
      `Cannot ${action} as optimizer must be or return an optimizer, such as (variables) => new Adam(variables): current value is ${describeValue(optimizer)}`,
      { option: 'optimizer', value: optimizer },
    )
  }
  const values = optimizer.variables?.map?.(({ value }) => value)
  const isSame = values?.length === variables.length && variables.every(({ value }, n) => value === values[n])
  if (values === undefined || isSame) return
  if (!isCallers) optimizer[Symbol.dispose]()
  throw codedRangeError(
    'ERR_INVALID_OPTION',
    `Cannot ${action} as optimizer must be of the variables that are trained, in their order, such as (variables) => new Adam(variables): it is of others`,
    { option: 'optimizer' },
  )
}

/**
 * The executor of all `variables`.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT` if there is none, `ERR_FOREIGN_TENSOR` if there are several
 */
export function backendOf(action: string, variables: readonly TapeVariable[], argument = 'params'): Backend {
  const backend = variables[0]?.backend
  if (backend === undefined) {
    throw codedTypeError(
      'ERR_INVALID_ARGUMENT',
      `Cannot ${action} as ${argument} must have a variable with an executor: make one with new Variable(backend, …)`,
      { argument },
    )
  }
  const foreign = variables.find((variable) => !backend.owns(variable.value))
  if (foreign === undefined) return backend
  throw codedTypeError(
    'ERR_FOREIGN_TENSOR',
    `Cannot ${action} as all variables must be of one executor: ${foreign.name} belongs to another`,
    { argument: foreign.name },
  )
}
