/**
 * Instruction sets that the kernels exist in: AVX-512 with VNNI (which only products of int8 weights use; bfloat16's use
 * AVX512_BF16 if the processor is not slower with it), AVX-512 (F, BW, VL, DQ), AVX2 with FMA and AVX-VNNI (for int8 weights),
 * AVX2 with FMA, 64-bit ARM's NEON with its products of matrices of int8 and bfloat16, with its dot products of int8, and alone,
 * and plain C++.
 */
export const INSTRUCTION_SETS = Object.freeze([
  'avx512-vnni',
  'avx512',
  'avx2-vnni',
  'avx2',
  'neon-i8mm-bf16',
  'neon-dotprod',
  'neon',
  'portable',
] as const)

export type InstructionSet = (typeof INSTRUCTION_SETS)[number]

/**
 * The instruction set to use: the one that was requested, or the best of `supported`, which are best first. Returns undefined
 * if the processor lacks the one that was requested.
 */
export function chooseInstructionSet(
  asked: InstructionSet | undefined,
  supported: readonly InstructionSet[],
): InstructionSet | undefined {
  if (asked === undefined) return supported[0]
  return supported.includes(asked) ? asked : undefined
}
