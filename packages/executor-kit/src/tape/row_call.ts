import { type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError } from '../coded_error.js'
import { OperandVersions } from '../operand_versions.js'
import { CHECKED_ROWS, type CheckedRow } from '../operations/checked_row.js'
import type { Entry, Recording } from './recording.js'
import { rowGradient } from './row_gradient.js'
import { Value } from './value.js'

/** An operand with numbers and variables replaced. */
type Taken = Value | TensorLike | undefined
type Method = (...given: readonly unknown[]) => unknown

/** The rows of operations that a tape has: not those of gradients, and not those that only devices have. */
export const TAPE_ROWS: readonly CheckedRow[] = CHECKED_ROWS.filter(
  (checked) => !checked.row.isOfDevices && !CHECKED_ROWS.some(({ gradient }) => gradient === checked),
)

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
  const { name, row, operands: list } = checked
  const { action } = row
  recording.checkOpen(action)
  const args = [...given]
  const taken: (Taken | readonly Taken[])[] = []
  for (const { index, pattern } of list) {
    const operand = given[index]
    if (pattern.isList && Array.isArray(operand)) {
      const parts = operand.map((part, k) => recording.operand(action, `${pattern.name}[${k}]`, part))
      taken.push(parts)
      args[index] = parts.map(tensorOf)
    } else {
      const own = recording.operand(action, pattern.name, operand)
      taken.push(own)
      args[index] = tensorOf(own)
    }
  }
  const isRecorded = row.gradient !== 'zero' && taken.flat().some(isDifferentiated)
  if (isRecorded && row.gradient === undefined) {
    throw codedRangeError(
      'ERR_NO_GRADIENT',
      `Cannot ${action} on a tape as ${name} has no gradient: pass t.stopGradient(x) for operands that are constants`,
      { operation: name },
    )
  }
  const compute = (recording.backend.ops as unknown as Readonly<Record<string, Method>>)[name]
  const note = (computed: unknown): Value => {
    const { results } = checked
    const [output, ...kept] = (
      results.length === 1 ? [computed] : results.map(({ key }) => (computed as Readonly<Record<string, unknown>>)[key])
    ) as BackendTensor[]
    const value = recording.result(output, isRecorded, made)
    for (const tensor of kept) recording.own(tensor)
    if (isRecorded) recording.add(entryOf(recording, checked, { args, taken, value, kept }))
    for (const tensor of kept) recording.letGo(tensor)
    return value
  }
  return row.asks ? recording.pending((async () => note(await compute(...args)))()) : note(compute(...args))
}

interface Call {
  readonly args: readonly unknown[]
  readonly taken: readonly (Taken | readonly Taken[])[]
  readonly value: Value
  readonly kept: readonly BackendTensor[]
}

function entryOf(recording: Recording, checked: CheckedRow, { args, taken, value, kept }: Call): Entry {
  const { name, row, operands: list, results } = checked
  const reads = typeof row.gradient === 'object' ? (row.gradient.reads ?? []) : []
  const places = list.flatMap(({ pattern: { key } }, k) => {
    const own = taken[k]
    return isListOf(own) ? own.map((_, part) => [key, part] as const) : [[key, -1] as const]
  })
  const operands = taken.flat().map((own) => (own instanceof Value ? own : undefined))
  const held: BackendTensor[] = []
  const watched: Record<string, TensorLike> = {}
  // The gradient needs elements as they are now: arrays of the caller are copied, tensors that the tape does not own are watched.
  const reading = (own: Taken, key: string): TensorLike | undefined => {
    const tensor = tensorOf(own)
    if (tensor === undefined || tensor === null) return tensor
    if (!isBackendTensor(tensor)) return { data: tensor.data.slice() as never, shape: [...tensor.shape] }
    if (own instanceof Value) held.push(own.tensor)
    watched[key] = tensor
    return tensor
  }
  const read: Record<string, unknown> = {}
  for (const key of reads) {
    const at = list.findIndex(({ pattern }) => pattern.key === key)
    if (at === -1) {
      const tensor = [value.tensor, ...kept][results.findIndex((result) => result.key === key)]
      held.push(tensor)
      read[key] = tensor
      continue
    }
    const own = taken[at]
    read[key] = isListOf(own) ? own.map((part, k) => reading(part, `${key}[${k}]`)) : reading(own, key)
  }
  const versions = new OperandVersions(watched)
  const shapes: Record<string, unknown> = { [results[0].key]: value.shape }
  for (let k = 0; k < list.length; k++) {
    const own = taken[k]
    shapes[list[k].pattern.key] = isListOf(own) ? own.map(shapeOf) : shapeOf(own)
  }
  const wants = (key: string) => operands.some((own, k) => places[k][0] === key && own?.isDifferentiated === true)
  const call = { checked, args, read, shapes, wants }
  return {
    ...{ name, operands, held, results: [value] },
    operandName: (index) => places[index][0] + (places[index][1] === -1 ? '' : `[${places[index][1]}]`),
    pass([gradient]) {
      versions.check()
      return rowGradient(recording, call, places, gradient as BackendTensor)
    },
  }
}

function isListOf(taken: Taken | readonly Taken[]): taken is readonly Taken[] {
  return Array.isArray(taken)
}

function isDifferentiated(taken: Taken): boolean {
  return taken instanceof Value && taken.isDifferentiated
}

function tensorOf(taken: Taken): TensorLike | undefined {
  return taken instanceof Value ? taken.tensor : taken
}

function shapeOf(taken: Taken): readonly number[] | undefined {
  return taken?.shape
}
