import { either, NUMBER, oneOf, optional, optionFields, where } from '@cudnn-rnn/canonical/rules'
import type { VariableInitializer } from './cell_variables.js'

/** The beginning of a kernel: drawn by Glorot's rule or from ±uniform, or filled with a number. */
type KernelInitializer = 'glorot_uniform' | number | { readonly uniform: number }

export const INITIALIZER = optional<KernelInitializer>(
  either(
    oneOf(['glorot_uniform']),
    where(NUMBER, 'a finite number', Number.isFinite),
    optionFields({ uniform: where(NUMBER, 'a finite number >= 0', (limit: number) => limit >= 0 && limit < Infinity) }),
  ),
)

/** The option, checked, as the initializer of a variable. */
export function kernelInitializer(option: KernelInitializer = 'glorot_uniform'): VariableInitializer {
  if (typeof option !== 'object') return option
  const { uniform } = option
  return ({ random }) => uniform * (2 * random.uniform() - 1)
}
