import { type Backend, DTYPES, type DType, type FloatDType, type TensorLike } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import { type CheckedRow, EXAMPLE_SIZES, exampleShape, type Pattern } from '@cudnn-rnn/ops/executor'

const LEADING = [2, 3]
/** Values for each option, of which a rule takes some: of every kind, and beside the numbers, sizes and orders that rules take. */
const VALUES: readonly unknown[] = [
  ...[undefined, null, 'x', '1', {}, true, Number.NaN, 0, 6, -0.1, 0.5, 1.1, -1, 99, -99, 2 ** 48, 2 ** 60],
  ...[[], [1], [5], [99], [0.5], [0, 0], [0, 2], [0, -1], [0, 0.5], [0, 2 ** 60], [-2, -3], [2, 4], [0, 0, 0]],
]
type OptionRule = CheckedRow['options'][number]['rule']
/** A wrong value of an argument, and the code of its refusal. */
type Fault = readonly [title: string, code: string, value: unknown]
/** A call that must be refused; if it has no code, one that may be taken. */
export type WrongCall = readonly [title: string, code: string | undefined, call: () => unknown]

/** The method of a row, of any arguments. */
export function methodOf(
  { ops }: Backend,
  { name }: CheckedRow,
): ((...given: readonly unknown[]) => unknown) | undefined {
  return (ops as unknown as Readonly<Record<string, ((...given: readonly unknown[]) => unknown) | undefined>>)[name]
}

/** Arguments that a row takes. */
export function exampleCall(checked: CheckedRow, dtype: FloatDType): unknown[] {
  const { operands, positional, options, optionsIndex } = checked
  const given: unknown[] = []
  for (const { index, pattern } of operands) setOperand(given, index, pattern, exampleOperand(pattern, dtype))
  for (const { index, rule } of positional) given[index] = rule.example
  const required = options.filter(({ rule }) => rule.isOptional === undefined)
  if (options.length > 0)
    given[optionsIndex] = Object.fromEntries(required.map(({ name, rule }) => [name, rule.example]))
  return given
}

/** Calls of a row with one argument each that is wrong, or one of {@link VALUES} for an option. */
export function wrongCalls(checked: CheckedRow, backend: Backend, elsewhere: Backend): WrongCall[] {
  const { name, operands, positional, options, optionsIndex } = checked
  const method = methodOf(backend, checked)
  const calls: WrongCall[] = []
  const refuse = (title: string, code: string | undefined, change: (given: unknown[]) => void) => {
    const given = exampleCall(checked, backend.dtype)
    change(given)
    calls.push([`${name}: ${title}`, code, () => method?.(...given)])
  }
  for (const { index, pattern } of operands) {
    for (const [title, code, value] of operandFaults(checked, pattern, backend, elsewhere)) {
      const wrong = pattern.isList && !title.startsWith('list') ? [exampleTensor(pattern, backend.dtype), value] : value
      refuse(`${pattern.name} ${title}`, code, (given) => setOperand(given, index, pattern, wrong))
    }
  }
  for (const { index, name: option, rule } of positional) {
    for (const [title, code, value] of optionFaults(name, option, rule)) {
      refuse(title, code, (given) => {
        given[index] = value
      })
    }
  }
  for (const { name: option, rule } of options) {
    for (const [title, code, value] of optionFaults(name, option, rule)) {
      refuse(title, code, (given) => Object.assign(given[optionsIndex] as object, { [option]: value }))
    }
  }
  if (options.length > 0) {
    refuse('null as options', 'ERR_INVALID_OPTION_TYPE', (given) => {
      given[optionsIndex] = null
    })
    refuse('an unknown option', 'ERR_UNKNOWN_OPTION', (given) =>
      Object.assign(given[optionsIndex] as object, { [checked.optionNames.includes('axis') ? 'axes' : 'axis']: 0 }),
    )
  }
  return calls
}

/** Values of an option, or of an argument that is checked with the operands, with their codes. */
function optionFaults(row: string, option: string, { example }: OptionRule) {
  const faults = row === 'ctcLoss' ? ctcFaults(option, example) : VALUES.map((value) => [value] as const)
  return faults.map(([value, code], k) => [`${option}, value ${k}`, code, value] as const)
}

function ctcFaults(option: string, example: unknown): (readonly [value: unknown, code?: string])[] {
  if (option === 'labels') {
    return [
      [undefined, 'ERR_NOT_A_TENSOR'],
      [{ data: new Float32Array(2), shape: [2, 1] }, 'ERR_DTYPE'],
      [{ data: new Int32Array(3), shape: [3, 1] }, 'ERR_SHAPE'],
      [{ ...(example as object), data: Int32Array.of(0, 2, 0, 1) }, 'ERR_CTC_LABEL'],
    ]
  }
  const changed = (changes: object) => ({ ...(example as object), ...changes })
  return [
    [null, 'ERR_INVALID_OPTION_TYPE'],
    [{}, 'ERR_CTC_BLANK'],
    [changed({ axis: 1 }), 'ERR_UNKNOWN_OPTION'],
    [changed({ blank: 3 }), 'ERR_CTC_BLANK'],
    [changed({ logitLengths: [4, 5] }), 'ERR_SEQUENCE_LENGTHS'],
    [changed({ labelLengths: [2] }), 'ERR_SEQUENCE_LENGTHS'],
    [changed({ infeasible: 'x' }), 'ERR_INVALID_OPTION'],
    [changed({ mergeRepeated: 1 }), 'ERR_INVALID_OPTION_TYPE'],
    [changed({ rowWeights: [1] }), 'ERR_SHAPE'],
  ]
}

function setOperand(given: unknown[], index: number, { name, key }: Pattern, value: unknown): void {
  if (name === key) given[index] = value
  else given[index] = { ...(given[index] as object | undefined), [key]: value }
}

function exampleOperand(pattern: Pattern, dtype: FloatDType): unknown {
  const tensor = exampleTensor(pattern, dtype)
  return pattern.isList ? [tensor, tensor] : tensor
}

function exampleTensor(pattern: Pattern, dtype: FloatDType): TensorLike {
  return tensorOf(pattern.bound === undefined ? dtype : 'int32', exampleShape(pattern, EXAMPLE_SIZES, LEADING))
}

function tensorOf(dtype: DType, shape: readonly number[]): TensorLike {
  return { data: new DTYPES[dtype].array(elementCount(shape)), shape } as TensorLike
}

function operandFaults(checked: CheckedRow, pattern: Pattern, backend: Backend, elsewhere: Backend): Fault[] {
  const { isOptional, isList, bound } = pattern
  const own: DType = bound === undefined ? backend.dtype : 'int32'
  const shape = exampleShape(pattern, EXAMPLE_SIZES, LEADING)
  const valid = tensorOf(own, shape)
  const copyOf = (executor: Backend) => executor.tensor(valid as never)
  const disposed = copyOf(backend)
  disposed.dispose()
  const others: readonly DType[] = (['float32', 'float64', 'int32'] as const).filter((dtype) => dtype !== own)
  const faults: Fault[] = [
    ['that is text', 'ERR_NOT_A_TENSOR', 'x'],
    ['that is an array', 'ERR_NOT_A_TENSOR', [1]],
    ['of another number of elements', 'ERR_SHAPE', { data: new DTYPES[own].array(elementCount(shape) + 1), shape }],
    ['that was disposed', 'ERR_TENSOR_DISPOSED', disposed],
    ['of another executor', 'ERR_FOREIGN_TENSOR', copyOf(elsewhere)],
    ...others.map((dtype): Fault => [`of ${dtype}`, 'ERR_DTYPE', tensorOf(dtype, shape)]),
    ...wrongShapes(checked, pattern).map((wrong): Fault => [`of shape [${wrong}]`, 'ERR_SHAPE', tensorOf(own, wrong)]),
  ]
  if (!isOptional) faults.push(['that is absent', 'ERR_NOT_A_TENSOR', undefined])
  if (isList) faults.push(['list of none', 'ERR_NOT_A_TENSOR', []], ['list that is none', 'ERR_NOT_A_TENSOR', valid])
  if (bound !== undefined) {
    const code = bound.isBelow ? 'ERR_ID_OUT_OF_RANGE' : 'ERR_SEQUENCE_LENGTHS'
    for (const value of [-1, 99]) {
      const data = new Int32Array(elementCount(shape))
      data[1] = value
      faults.push([`with ${value}`, code, { data, shape }])
    }
  }
  return faults
}

/** Shapes that cannot fit: they change a size that is fixed, or is another operand's. */
function wrongShapes({ operands }: CheckedRow, pattern: Pattern): readonly (readonly number[])[] {
  const { hasLeading, dims, isList, free } = pattern
  const others = operands.filter((operand) => operand.pattern !== pattern).map((operand) => operand.pattern)
  const shape = exampleShape(pattern, EXAMPLE_SIZES, LEADING)
  // Sizes that differ, of which neither is 1.
  if (free === 'broadcast')
    return [
      [9, ...shape.slice(1)],
      [...shape, 9],
    ]
  if (free === 'any') return []
  const isLeadingFixed = !hasLeading || isList || others.some((other) => other.hasLeading)
  const wrong: (readonly number[])[] = []
  if (isLeadingFixed) wrong.push([1, ...shape])
  if (isLeadingFixed && shape.length > 0) wrong.push(shape.slice(1))
  if (hasLeading && isLeadingFixed) wrong.push([9, ...shape.slice(1)])
  for (const [k, { slot, size }] of dims.entries()) {
    const isFixed =
      size !== undefined || (slot !== -1 && others.some((other) => other.dims.some((dim) => dim.slot === slot)))
    const axis = shape.length - dims.length + k
    if (isFixed) wrong.push(shape.map((each, at) => (at === axis ? each + 1 : each)))
  }
  return wrong
}
