import type { TensorLike } from '@cudnn-rnn/ops'
import { elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import { type AnyKernel, CHECKED_ROWS } from '../operations/checked_row.js'
import type { Numbers, Pattern } from '../operations/pattern.js'
import type { HostRowName, KernelNumbers, RowKernels, RowName } from '../operations/table.js'
import type { HostMemory } from './host_memory.js'
import type { HostTensor } from './host_tensor.js'

/**
 * Computes one operation over arrays; returns the number of the operation that was queued, 0 if it is done.
 *
 * @param results zeros, to be filled; in the order of the row
 * @param operands in the order of the row; a list of arrays for a list of tensors, undefined for an absent one
 * @param numbers sizes and options
 */
export type HostCompute = (results: readonly FloatArray[], operands: HostOperands, numbers: Numbers) => number
// biome-ignore lint/suspicious/noExplicitAny: arrays of either type, or lists of them, as the row has it
export type HostOperands = readonly any[]

/** A row that is done when its function returns; arguments as of {@link HostCompute}. */
export type HostFunction<Name extends HostRowName> = (
  results: readonly FloatArray[],
  operands: HostOperands,
  numbers: KernelNumbers<Name>,
) => void

/**
 * Kernels for every operation with a row, for executors in host memory: results are allocated, the computation of the row fills
 * them, and they become tensors.
 *
 * @param allocateResult makes arrays with any contents, for the operation whose result is worth it.
 */
export function hostKernels(
  memory: HostMemory,
  computeOf: (name: HostRowName) => HostCompute,
  allocateResult = memory.allocate,
): RowKernels {
  const kernels: Partial<Record<RowName, (...call: Parameters<AnyKernel>) => unknown>> = {}
  for (const { name, row, operands: list, results: patterns } of CHECKED_ROWS) {
    if (row.isOfDevices) continue
    const compute = computeOf(name as HostRowName)
    // The logits of CTC are its largest operand, and every element of its results is written.
    const allocate = name === 'ctcLoss' ? allocateResult : memory.allocate
    kernels[name] = (operands, numbers, shapes) => {
      const results: FloatArray[] = []
      for (let k = 0; k < shapes.length; k++) results.push(allocate(elementCount(shapes[k])))
      // In its own place: a new array takes as long as a check.
      const arrays: unknown[] = operands
      for (let k = 0; k < list.length; k++) arrays[k] = arrayOf(memory, list[k].pattern, operands[k])
      const job = compute(results, arrays, numbers)
      if (shapes.length === 1) return memory.result(shapes[0], results[0], job)
      const named: Record<string, HostTensor> = {}
      for (let k = 0; k < shapes.length; k++) named[patterns[k].key] = memory.result(shapes[k], results[k], job)
      return named
    }
  }
  return kernels as unknown as RowKernels
}

function arrayOf(memory: HostMemory, { isList, bound }: Pattern, operand: Parameters<AnyKernel>[0][number]): unknown {
  if (operand === undefined) return undefined
  if (isList) return (operand as readonly TensorLike[]).map((tensor) => memory.floats(tensor))
  return bound === undefined ? memory.floats(operand as TensorLike) : memory.elements(operand as TensorLike)
}
