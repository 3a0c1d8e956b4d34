import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError } from './coded_error.js'

/**
 * Instruction sets that the kernels exist in: AVX-512 with VNNI (which only products of int8 weights use), AVX-512 (F, BW,
 * VL, DQ), AVX2 with FMA, 64-bit ARM's NEON, and plain C++.
 */
export const INSTRUCTION_SETS = Object.freeze(['avx512-vnni', 'avx512', 'avx2', 'neon', 'portable'] as const)

export type InstructionSet = (typeof INSTRUCTION_SETS)[number]

/**
 * The instruction set to use: the one that was requested, or the best of `supported`, which are best first. Returns undefined
 * where the processor lacks the one that was requested.
 *
 * @throws RangeError `ERR_INVALID_OPTION` where there is no such instruction set
 */
export function chooseInstructionSet(
  asked: InstructionSet | undefined,
  supported: readonly InstructionSet[],
): InstructionSet | undefined {
  if (asked === undefined) return supported[0]
  if (!INSTRUCTION_SETS.includes(asked)) {
    throw codedRangeError(
      'ERR_INVALID_OPTION',
      `Cannot open the cpu backend as instructionSet must be one of ${INSTRUCTION_SETS.join(', ')}: current value is ${describeValue(asked)}`,
      { option: 'instructionSet', value: asked },
    )
  }
  return supported.includes(asked) ? asked : undefined
}
