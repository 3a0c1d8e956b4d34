import type { BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import type { CheckedRow } from '../operations/checked_row.js'
import type { GradientRule, GradientsByKey } from '../operations/row.js'
import { GradientOperations } from './gradient_operations.js'
import type { Passed, Recording, Taken } from './recording.js'
import { Value } from './value.js'

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
export function rowGradient(recording: Recording, call: RowCall, dy: BackendTensor): Passed {
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
      .some((own) => own instanceof Value && own.isDifferentiated)
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
