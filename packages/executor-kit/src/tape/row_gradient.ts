import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { CheckedRow } from '../operations/checked_row.js'
import type { GradientRule, GradientsByKey } from '../operations/row.js'
import { GradientOperations } from './gradient_operations.js'
import type { Passed, Recording } from './recording.js'

/** A call of a row whose gradient is to be computed. */
export interface RowCall {
  readonly checked: CheckedRow
  /** The arguments that the operation got. */
  readonly args: readonly unknown[]
  /** The operands and results that the gradient reads, by key. */
  readonly read: Readonly<Record<string, unknown>>
  /** Shapes of operands and results by key; of a list of operands a list. */
  readonly shapes: Readonly<Record<string, unknown>>
  readonly wants: (key: string) => boolean
}

type Places = readonly (readonly [key: string, part: number])[]

/** The gradients of a call's operands, one by one, from that of its result. */
export function rowGradient(recording: Recording, call: RowCall, places: Places, dy: BackendTensor): Passed {
  const { gradient } = call.checked.row
  const operations = GradientOperations.of(recording.backend)
  const { result, made } = operations.run(recording, () =>
    typeof gradient === 'object' && 'pass' in gradient
      ? ruleGradients(gradient, recording, operations, call, dy)
      : kernelGradients(operations, call, dy),
  )
  const gradients = places.map(([key, part]) => {
    const own = result[key]
    return (part === -1 ? own : (own as readonly BackendTensor[] | undefined)?.[part]) as BackendTensor | undefined
  })
  return { gradients, made }
}

function ruleGradients(
  { pass }: GradientRule,
  recording: Recording,
  operations: GradientOperations,
  { checked, args, read, shapes, wants }: RowCall,
  dy: BackendTensor,
): GradientsByKey {
  const { positional, options, optionsIndex } = checked
  const given: Record<string, unknown> = {}
  for (const { index, name } of positional) given[name] = args[index]
  if (options.length > 0) Object.assign(given, args[optionsIndex])
  return pass(dy, {
    ...{ read, shapes, wants, options: given, ops: operations.ops, isOne: recording.isOne(dy) },
    zeros: (shape) => operations.zeros(shape),
  })
}

/** Calls the kernel of the gradient with the tensors that it reads, the gradient, and the sizes and options of the call. */
function kernelGradients(
  { ops }: GradientOperations,
  { checked, args, read, shapes }: RowCall,
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
    given[index] = own === undefined ? sizeOf(operands, shapes, slot) : args[own.index]
  }
  if (gradient.options.length > 0) given[gradient.optionsIndex] = args[optionsIndex]
  const compute = (ops as unknown as Readonly<Record<string, (...given: readonly unknown[]) => unknown>>)[gradient.name]
  const made = compute(...given)
  return (gradient.results.length === 1 ? { [gradient.results[0].key]: made } : made) as GradientsByKey
}

/** The size of a letter that only an operand has that the gradient does not read. */
function sizeOf(operands: CheckedRow['operands'], shapes: RowCall['shapes'], slot: number): number {
  for (const { pattern } of operands) {
    const axis = pattern.dims.findIndex((dim) => dim.slot === slot)
    const shape = shapes[pattern.key] as TensorLike['shape']
    if (axis !== -1) return shape[shape.length - pattern.dims.length + axis]
  }
  return -1
}
