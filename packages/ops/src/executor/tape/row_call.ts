import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import type { VersionedTensor } from '../memory/executor_memory.js'
import { OperandVersions } from '../memory/operand_versions.js'
import type { CheckedRow } from '../operations/checked_row.js'
import type { Entry, Passed, Recording, Taken } from './recording.js'
import { rowGradient } from './row_gradient.js'
import { Value } from './value.js'

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
    if (own instanceof Value) this.held.push(own.tensor)
    this.#versions.note(key, tensor as VersionedTensor)
    return tensor
  }
}

function isListOf(taken: Taken | readonly Taken[]): taken is readonly Taken[] {
  return Array.isArray(taken)
}

function valueOrNone(taken: Taken): Value | undefined {
  return taken instanceof Value ? taken : undefined
}

function isDifferentiated(taken: Taken): boolean {
  return taken instanceof Value && taken.isDifferentiated
}

function tensorOf(taken: Taken): TensorLike | undefined {
  return taken instanceof Value ? taken.tensor : taken
}
