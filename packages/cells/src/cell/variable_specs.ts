import type { VariableInitializer, VariableSpec } from './cell_variables.js'

/** Names of the kernel and the bias of a dense layer within a cell. */
export type DenseNames = readonly [kernel: string, bias: string]

export function denseNames(scope: string): DenseNames {
  return [`${scope}/kernel`, `${scope}/bias`]
}

export function kernelSpec(name: string, ...shape: readonly number[]): VariableSpec {
  return { name, shape, initializer: 'glorot_uniform' }
}

/** The variables of a dense layer, whose bias starts at `start`. */
export function denseSpecs(
  [kernel, bias]: DenseNames,
  rows: number,
  columns: number,
  start: VariableInitializer = 0,
): VariableSpec[] {
  return [kernelSpec(kernel, rows, columns), { name: bias, shape: [columns], initializer: start }]
}
