import { describeValue } from '@cudnn-rnn/canonical'
import { checkNames, codedRangeError, codedTypeError, required } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor, FloatDType, TensorLike } from '@cudnn-rnn/ops'
import { checkIsTensor, checkRule, checkShape, type TensorRule } from '../arguments/tensor_arguments.js'
import { checkOwnTensor, type ExecutorMemory, type VersionedTensor } from '../memory/executor_memory.js'
import { type OptionRule, RESULT_SIZE } from './option_rules.js'
import {
  bindShape,
  expectedShape,
  type Numbers,
  noSizes,
  numbersOf,
  type Pattern,
  parsePattern,
  resultShape,
  type Sizes,
  sizeName,
  slotOf,
} from './pattern.js'
import type { Row } from './row.js'
import { OPERATIONS, type RowName } from './table.js'

interface OperandArgument {
  /** Place of the argument; the fields of one record share it. */
  readonly index: number
  readonly pattern: Pattern
}

interface OptionArgument {
  readonly index: number
  readonly name: string
  readonly rule: OptionRule<unknown>
  /** The slot of an option that is a size; -1 for any other option. */
  readonly slot: number
}

/** A row of the table, or the gradient of one, whose texts were parsed. */
export interface CheckedRow {
  readonly name: RowName
  readonly row: Row
  readonly operands: readonly OperandArgument[]
  /** The indices of the operands; the one that the others are compared with comes first. */
  readonly order: readonly number[]
  /** The places of ids and lengths. */
  readonly bounded: readonly number[]
  readonly results: readonly Pattern[]
  /** For each result, the place of an operand of the same shape, or -1. */
  readonly alike: readonly number[]
  readonly hasOptions: boolean
  /** Options that are arguments themselves. */
  readonly positional: readonly OptionArgument[]
  /** Options of the object at {@link optionsIndex}. */
  readonly options: readonly OptionArgument[]
  readonly optionsIndex: number
  readonly optionNames: readonly string[]
  /** Operands and results that its gradient reads, each by its place; the other place is -1. */
  readonly reads: readonly { readonly key: string; readonly operand: number; readonly result: number }[]
  /** The kernel of its gradient, if that is one. */
  readonly gradient?: CheckedRow
}

type Operand = TensorLike | readonly TensorLike[] | undefined

/** A kernel of any row. */
export type AnyKernel = (operands: Operand[], numbers: Numbers, shapes: readonly (readonly number[])[]) => BackendTensor

function checkedRow(name: RowName, row: Row): CheckedRow {
  const { takes, gives, keeps = [], options = {}, measure } = row
  const operands: OperandArgument[] = []
  const positional: OptionArgument[] = []
  let index = -1
  let record: string | undefined
  for (const text of takes) {
    const before = record
    record = /^\w+(?=\.\w)/.exec(text)?.[0]
    if (record === undefined || record !== before) index++
    const pattern = parsePattern(text)
    if (pattern !== undefined) operands.push({ index, pattern })
    else positional.push(optionArgument(index, text, options))
  }
  const optionsIndex = index + 1
  const optionNames = Object.keys(options).filter((option) => !takes.includes(option))
  const isMeasure = (k: number) => Number(operands[k].pattern.key === measure)
  const results = [...gives, ...keeps]
  const reads = typeof row.gradient === 'object' ? (row.gradient.reads ?? []) : []
  const keyed = (key: string) => (text: string) => parsePattern(text)?.key === key
  const dimsOf = (text: string) => text.slice(text.indexOf(' ['))
  const texts = takes.filter((text) => parsePattern(text) !== undefined && !text.includes('*'))
  return {
    ...{ name, row, operands, positional, optionsIndex, optionNames },
    order: [...operands.keys()].sort((a, b) => isMeasure(b) - isMeasure(a)),
    bounded: [...operands.keys()].filter((k) => operands[k].pattern.bound !== undefined),
    hasOptions: Object.keys(options).length > 0,
    reads: reads.map((key) => {
      const operand = operands.findIndex(({ pattern }) => pattern.key === key)
      return { key, operand, result: operand === -1 ? results.findIndex(keyed(key)) : -1 }
    }),
    results: results.map((text) => required(parsePattern(text), 'a result is a pattern')),
    alike: results.map((text) => texts.findIndex((operand) => dimsOf(operand) === dimsOf(text))),
    options: optionNames.map((option) => optionArgument(optionsIndex, option, options)),
  }
}

function optionArgument(index: number, name: string, options: NonNullable<Row['options']>): OptionArgument {
  const rule = required(options[name], 'an argument is an operand or an option')
  return { index, name, rule, slot: rule === RESULT_SIZE ? slotOf(name) : -1 }
}

/** The row of a gradient: operands and results that it reads, then the results' gradients, to the floating operands'. */
function gradientRow({
  takes,
  gives,
  keeps = [],
  options,
  gradient,
  ...row
}: Row): readonly [RowName, Row] | undefined {
  if (gradient === undefined || gradient === 'zero' || !('name' in gradient)) return undefined
  const operands = takes.filter((text) => parsePattern(text) !== undefined)
  const texts = new Map([...operands, ...gives, ...keeps].map((text) => [parsePattern(text)?.key, text]))
  const reads = gradient.reads.map((key) => required(texts.get(key), 'a gradient reads operands and results'))
  const given = gives.map((text) => text.replace(' [', 'Gradient ['))
  const results = operands.filter((text) => parsePattern(text)?.bound === undefined)
  const slotsOf = (list: readonly string[]) => list.flatMap((text) => parsePattern(text)?.dims.map(({ slot }) => slot))
  const known = slotsOf([...reads, ...given])
  // A size that only an operand has that is not read.
  const missing = slotsOf(results).flatMap((slot) => (known.includes(slot) ? [] : [sizeName(slot ?? -1)]))
  const positional = takes.filter((text) => parsePattern(text) === undefined)
  return [
    gradient.name as RowName,
    {
      ...{ ...row, action: gradient.action, takes: [...missing, ...reads, ...given, ...positional], gives: results },
      options: { ...Object.fromEntries(missing.map((name) => [name, RESULT_SIZE])), ...options },
    },
  ]
}

/** Every operation that has a row, and every gradient. */
export const CHECKED_ROWS: readonly CheckedRow[] = Object.entries(OPERATIONS as Readonly<Record<string, Row>>).flatMap(
  ([name, row]) => {
    const gradient = gradientRow(row)
    const own = checkedRow(name as RowName, row)
    if (gradient === undefined) return [own]
    const checked = checkedRow(...gradient)
    return [{ ...own, gradient: checked }, checked]
  },
)

// Made once: a call compares its operands with one of them.
const FLOATING: Readonly<Record<FloatDType, TensorRule>> = {
  float32: { dtype: 'float32' },
  float64: { dtype: 'float64' },
}
const INTEGERS: TensorRule = { dtype: 'int32' }

/**
 * Calls a kernel. The arguments are checked before anything is done with them: operands and their shapes, options, values of ids and
 * lengths as far as they can be read.
 *
 * @param readIds integers as they are now; undefined if they are out of reach.
 */
export function callKernel<Own extends VersionedTensor>(
  checked: CheckedRow,
  memory: ExecutorMemory<Own>,
  readIds: (ids: TensorLike) => Int32Array | undefined,
  compute: AnyKernel,
  given: readonly unknown[],
): BackendTensor {
  const { row, operands: list, order, bounded, hasOptions, results, alike } = checked
  const { action, complete } = row
  memory.life.check(action)
  const operands: Operand[] = []
  for (let k = 0; k < list.length; k++) {
    const { index, pattern } = list[k]
    const argument = pattern.name === pattern.key ? given[index] : fieldOf(given[index], pattern.key)
    if (pattern.isList) operands.push(takenList(memory, action, pattern.name, argument))
    else if (pattern.isOptional && (argument === undefined || argument === null)) operands.push(undefined)
    else operands.push(taken(memory, action, pattern.name, argument))
  }
  const sizes = noSizes()
  const floating = FLOATING[memory.dtype]
  for (let k = 0; k < order.length; k++) {
    checkOperand(action, list[order[k]].pattern, operands[order[k]], floating, sizes)
  }
  const numbers = numbersOf(sizes)
  if (hasOptions) takeOptions(checked, given, numbers, sizes)
  for (let k = 0; k < bounded.length; k++) {
    const at = bounded[k]
    operands[at] = checkValues(action, list[at].pattern, operands[at], sizes, readIds)
  }
  if (complete !== undefined) Object.assign(numbers, complete(numbers, operands, memory.dtype))
  const shapes: (readonly number[])[] = []
  for (let k = 0; k < results.length; k++) {
    const like = alike[k] === -1 ? undefined : operands[alike[k]]
    shapes.push(like === undefined ? resultShape(results[k], sizes, numbers) : (like as TensorLike).shape)
  }
  return compute(operands, numbers, shapes)
}

function takeOptions(
  { row: { action }, positional, options, optionNames, optionsIndex }: CheckedRow,
  given: readonly unknown[],
  numbers: Numbers,
  sizes: Sizes,
): void {
  for (let k = 0; k < positional.length; k++) {
    const { index, name, rule, slot } = positional[k]
    numbers[name] = rule.complete(action, name, given[index], numbers, sizes)
    if (slot !== -1) sizes.slots[slot] = numbers[name]
  }
  if (options.length === 0) return
  const isAbsent = given[optionsIndex] === undefined && options.every(({ rule }) => rule.isOptional)
  if (!isAbsent) checkNames(action, given[optionsIndex] as object, optionNames)
  const values = (isAbsent ? {} : given[optionsIndex]) as Readonly<Record<string, unknown>>
  for (let k = 0; k < options.length; k++) {
    const { name, rule } = options[k]
    numbers[name] = rule.complete(action, name, values[name], numbers, sizes)
  }
}

/** An operand as it is now, read from its caller once: live, and the executor's own if it is a backend tensor. */
function taken(memory: ExecutorMemory<VersionedTensor>, action: string, name: string, operand: unknown): TensorLike {
  checkOwnTensor(memory, action, name, operand as TensorLike)
  return checkIsTensor(action, name, operand as TensorLike)
}

function takenList(memory: ExecutorMemory<VersionedTensor>, action: string, name: string, list: unknown): TensorLike[] {
  if (Array.isArray(list) && list.length > 0) {
    return Array.from(list, (operand, index) => taken(memory, action, `${name}[${index}]`, operand))
  }
  throw codedTypeError(
    'ERR_NOT_A_TENSOR',
    `Cannot ${action} as ${name} must be an array of tensors, one at least: current value is ${describeValue(list)}`,
    { argument: name },
  )
}

function fieldOf(record: unknown, key: string): unknown {
  return typeof record === 'object' && record !== null ? (record as Readonly<Record<string, unknown>>)[key] : undefined
}

function checkOperand(
  action: string,
  pattern: Pattern,
  operand: Operand,
  floating: TensorRule,
  sizes: Sizes,
  name = pattern.name,
): void {
  if (operand === undefined) return
  if (pattern.isList && Array.isArray(operand)) {
    for (let k = 0; k < operand.length; k++) {
      checkOperand(action, pattern, operand[k], floating, sizes, `${name}[${k}]`)
    }
    return
  }
  const tensor = operand as TensorLike
  checkRule(action, name, tensor, pattern.bound === undefined ? floating : INTEGERS)
  const { shape } = tensor
  if (bindShape(pattern, shape, sizes)) return
  if (pattern.free === undefined) checkShape(action, name, shape, expectedShape(pattern, shape, sizes))
  const { leading = [] } = sizes
  throw codedRangeError(
    'ERR_SHAPE',
    `Cannot ${action} as ${name} must have a shape that broadcasts with [${leading.join(',')}]: current shape is [${shape.join(',')}]`,
    { argument: name, expected: leading, actual: shape },
  )
}

/** Ids and lengths whose values were checked, a copy, if they can be read. */
function checkValues(
  action: string,
  { name, bound }: Pattern,
  operand: Operand,
  { slots }: Sizes,
  readIds: (ids: TensorLike) => Int32Array | undefined,
): Operand {
  if (bound === undefined || operand === undefined) return operand
  const { shape } = operand as TensorLike
  const data = readIds(operand as TensorLike)
  if (data === undefined) return operand
  if (bound.isBelow) checkIdValues(action, name, data, slots[bound.slot])
  else checkLengthValues(action, name, data, slots[bound.slot])
  return { data, shape }
}

/** Throws RangeError `ERR_ID_OUT_OF_RANGE`, naming the position, unless every id is in 0..count-1. */
export function checkIdValues(action: string, name: string, ids: Int32Array, count: number): void {
  const index = firstOutside(ids, count - 1)
  if (index === -1) return
  throw codedRangeError(
    'ERR_ID_OUT_OF_RANGE',
    `Cannot ${action} as ${name}[${index}] must be in 0..${count - 1}: current value is ${ids[index]}`,
    { argument: name, index, value: ids[index], maximum: count - 1 },
  )
}

function checkLengthValues(action: string, name: string, lengths: Int32Array, time: number): void {
  const row = firstOutside(lengths, time)
  if (row === -1) return
  throw codedRangeError(
    'ERR_SEQUENCE_LENGTHS',
    `Cannot ${action} as ${name}[${row}] must be in 0..${time}: current value is ${lengths[row]}`,
    { row, value: lengths[row], maximum: time },
  )
}

/** The place of the first integer that is not in 0..maximum, or -1. */
function firstOutside(integers: Int32Array, maximum: number): number {
  for (let k = 0; k < integers.length; k++) if (integers[k] < 0 || integers[k] > maximum) return k
  return -1
}
