import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import type { VersionedTensor } from '../memory/executor_memory.js'
import { OperandVersions } from '../memory/rnn_tape.js'
import type { CheckedRow } from '../operations/checked_row.js'
import type { GradientRule, GradientsByKey } from '../operations/row.js'
import { GradientOperations } from './gradient_operations.js'
import type { Entry, Passed, Recording, Taken } from './recording.js'
import { isValue, type Value } from './value.js'

type Read = Readonly<Record<string, unknown>>
type Method = (...given: readonly unknown[]) => unknown

/**
 * Calls an operation of the executor, which checks its arguments, and records it if something that is differentiated is among
 * them.
 *
 * @param made receives the result
 */
export function callRow(
  recording: Recording,
  made: Value[],
  checked: CheckedRow,
  given: readonly unknown[],
): Value | Promise<Value> {
  const { name, row, operands: list, results } = checked
  const { action } = row
  recording.checkOpen(action)
  const args = [...given]
  const taken: (Taken | readonly Taken[])[] = []
  let isRecorded = false
  for (const { index, pattern } of list) {
    const operand = given[index]
    if (pattern.isList && Array.isArray(operand)) {
      const parts = operand.map((part, k) => recording.operand(action, `${pattern.name}[${k}]`, part))
      isRecorded ||= parts.some(isDifferentiated)
      taken.push(parts)
      args[index] = parts.map(tensorOf)
    } else {
      const own = recording.operand(action, pattern.name, operand)
      isRecorded ||= isDifferentiated(own)
      taken.push(own)
      args[index] = tensorOf(own)
    }
  }
  isRecorded &&= row.gradient !== 'zero'
  if (isRecorded && row.gradient === undefined) {
    throw codedRangeError(
      'ERR_NO_GRADIENT',
      `Cannot ${action} on a tape as ${name} has no gradient: pass t.stopGradient(x) for operands that are constants`,
      { operation: name },
    )
  }
  const compute = (recording.backend.ops as unknown as Readonly<Record<string, Method>>)[name]
  const note = (computed: unknown): Value => {
    const tensors = results.length === 1 ? [computed] : results.map(({ key }) => (computed as Read)[key])
    const [output, ...kept] = tensors as BackendTensor[]
    const value = recording.newValue(output, isRecorded, made)
    for (const tensor of kept) recording.own(tensor)
    if (isRecorded) recording.add(new RowEntry(recording, checked, args, taken, value, kept))
    for (const tensor of kept) recording.letGo(tensor)
    return value
  }
  return row.asks ? recording.pending((async () => note(await compute(...args)))()) : note(compute(...args))
}

/** A call that was recorded. */
class RowEntry implements Entry {
  readonly operands: (Value | undefined)[] = []
  readonly results: readonly Value[]
  readonly held: BackendTensor[] = []
  readonly #recording: Recording
  readonly #checked: CheckedRow
  readonly #args: readonly unknown[]
  readonly #taken: readonly (Taken | readonly Taken[])[]
  readonly #read: Record<string, unknown> = {}
  readonly #versions = new OperandVersions({})

  constructor(
    recording: Recording,
    checked: CheckedRow,
    ...[args, taken, value, kept]: [
      args: readonly unknown[],
      taken: readonly (Taken | readonly Taken[])[],
      value: Value,
      kept: readonly BackendTensor[],
    ]
  ) {
    this.#recording = recording
    this.#checked = checked
    this.#args = args
    this.#taken = taken
    this.results = [value]
    for (const own of taken) {
      if (isListOf(own)) for (const part of own) this.operands.push(valueOrNone(part))
      else this.operands.push(valueOrNone(own))
    }
    for (const { key, operand, result } of checked.reads) {
      if (operand === -1) {
        const tensor = result === 0 ? value.tensor : kept[result - 1]
        this.held.push(tensor)
        this.#read[key] = tensor
      } else {
        const own = taken[operand]
        this.#read[key] = isListOf(own)
          ? own.map((part, k) => this.#reading(part, `${key}[${k}]`))
          : this.#reading(own, key)
      }
    }
  }

  get name(): string {
    return this.#checked.name
  }

  get known(): readonly (BackendTensor | undefined)[] | undefined {
    const { row, operands, reads } = this.#checked
    const made = typeof row.gradient === 'object' && 'made' in row.gradient ? row.gradient.made : undefined
    if (made === undefined) return undefined
    return operands.map(({ pattern }) =>
      pattern.key === made ? (this.#read[reads[0].key] as BackendTensor) : undefined,
    )
  }

  operandName(index: number): string {
    const names = this.#taken.flatMap((own, k) => {
      const { key } = this.#checked.operands[k].pattern
      return isListOf(own) ? own.map((_, part) => `${key}[${part}]`) : [key]
    })
    return names[index]
  }

  pass([gradient]: readonly (BackendTensor | undefined)[]): Passed {
    this.#versions.check()
    const call = {
      checked: this.#checked,
      args: this.#args,
      read: this.#read,
      taken: this.#taken,
      value: this.results[0],
    }
    return rowGradient(this.#recording, call, gradient as BackendTensor)
  }

  /** The gradient needs elements as they are now: arrays of the caller are copied, tensors that others may write are watched. */
  #reading(own: Taken, key: string): TensorLike | undefined {
    const tensor = tensorOf(own)
    if (tensor === undefined || tensor === null) return tensor
    if (!isBackendTensor(tensor)) return { data: tensor.data.slice() as never, shape: [...tensor.shape] }
    if (isValue(own)) this.held.push(own.tensor)
    this.#versions.note(key, tensor as VersionedTensor)
    return tensor
  }
}

function isListOf(taken: Taken | readonly Taken[]): taken is readonly Taken[] {
  return Array.isArray(taken)
}

function valueOrNone(taken: Taken): Value | undefined {
  return isValue(taken) ? taken : undefined
}

function isDifferentiated(taken: Taken): boolean {
  return isValue(taken) && taken.isDifferentiated
}

function tensorOf(taken: Taken): TensorLike | undefined {
  return isValue(taken) ? taken.tensor : taken
}

/** A call of a row whose gradient is to be computed. */
interface RowCall {
  readonly checked: CheckedRow
  /** The arguments that the operation got. */
  readonly args: readonly unknown[]
  /** The operands and results that the gradient reads, by key. */
  readonly read: Readonly<Record<string, unknown>>
  /** The operands, in their order; for a list of operands, a list. */
  readonly taken: readonly (Taken | readonly Taken[])[]
  readonly value: Value
}

/** The gradients of a call's operands, one at a time, from the gradient of its result. */
function rowGradient(recording: Recording, call: RowCall, dy: BackendTensor): Passed {
  const { row, operands } = call.checked
  const operations = GradientOperations.of(recording.backend)
  const { gradient } = row
  const { result, made } = operations.run(recording, () =>
    typeof gradient === 'object' && 'pass' in gradient
      ? ruleGradients(gradient, operations, call, dy)
      : kernelGradients(operations, call, dy),
  )
  const gradients: (BackendTensor | undefined)[] = []
  for (let k = 0; k < operands.length; k++) {
    const own = result[operands[k].pattern.key]
    const given = call.taken[k]
    if (!Array.isArray(given)) gradients.push(own as BackendTensor | undefined)
    else gradients.push(...given.map((_, part) => (own as readonly BackendTensor[] | undefined)?.[part]))
  }
  return { gradients, made }
}

function ruleGradients(
  { pass }: GradientRule,
  operations: GradientOperations,
  { checked, args, read, taken, value }: RowCall,
  dy: BackendTensor,
): GradientsByKey {
  const { positional, options, optionsIndex, operands, results } = checked
  const given: Record<string, unknown> = {}
  for (const { index, name } of positional) given[name] = args[index]
  if (options.length > 0) Object.assign(given, args[optionsIndex])
  const shapes: Record<string, unknown> = { [results[0].key]: value.shape }
  for (let k = 0; k < operands.length; k++) {
    const own = taken[k]
    shapes[operands[k].pattern.key] = Array.isArray(own) ? own.map((part) => part?.shape) : (own as Taken)?.shape
  }
  const wants = (key: string) =>
    [taken[operands.findIndex(({ pattern }) => pattern.key === key)]]
      .flat()
      .some((own) => isValue(own) && own.isDifferentiated)
  return pass(dy, {
    ...{ read, shapes, wants, options: given, ops: operations.ops },
    zeros: (shape) => operations.zeros(shape),
  })
}

/** Calls the kernel of the gradient with the tensors that it reads, the gradient, and the sizes and options of the call. */
function kernelGradients(
  { ops }: GradientOperations,
  { checked, args, read, taken }: RowCall,
  dy: BackendTensor,
): GradientsByKey {
  const { gradient, positional, optionsIndex, operands } = checked
  if (gradient === undefined) return {}
  const given: unknown[] = []
  for (const { index, pattern } of gradient.operands) {
    given[index] = pattern.key in read ? read[pattern.key] : dy
  }
  for (const { index, name, slot } of gradient.positional) {
    const own = positional.find((option) => option.name === name)
    given[index] = own === undefined ? sizeOf(operands, taken, slot) : args[own.index]
  }
  if (gradient.options.length > 0) given[gradient.optionsIndex] = args[optionsIndex]
  const compute = (ops as unknown as Readonly<Record<string, (...given: readonly unknown[]) => unknown>>)[gradient.name]
  const made = compute(...given)
  return (gradient.results.length === 1 ? { [gradient.results[0].key]: made } : made) as GradientsByKey
}

/** The size of a letter that only an operand has that the gradient does not read. */
function sizeOf(operands: CheckedRow['operands'], taken: RowCall['taken'], slot: number): number {
  for (let k = 0; k < operands.length; k++) {
    const { dims } = operands[k].pattern
    const axis = dims.findIndex((dim) => dim.slot === slot)
    const { shape } = taken[k] as TensorLike
    if (axis !== -1) return shape[shape.length - dims.length + axis]
  }
  return -1
}
