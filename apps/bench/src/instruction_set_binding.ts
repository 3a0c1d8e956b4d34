import type { InstructionSet } from '@cudnn-rnn/rnn/executors'
import type { Implementation } from './implementation_table.js'

/**
 * Environment variables that hold the libraries of the Python baselines to an instruction set: ATen's own kernels, oneDNN (its
 * name of today and the one before), and MKL, which heeds the variable on Intel's processors only.
 */
const BASELINE_ENVIRONMENT: Readonly<Record<InstructionSet, Readonly<Record<string, string>>>> = {
  'avx512-vnni': environment('avx512', 'AVX512_CORE_VNNI', 'AVX512'),
  avx512: environment('avx512', 'AVX512_CORE', 'AVX512'),
  'avx2-vnni': environment('avx2', 'AVX2_VNNI', 'AVX2'),
  avx2: environment('avx2', 'AVX2', 'AVX2'),
  // The baselines choose among the sets of 64-bit ARM themselves.
  'neon-i8mm-bf16': {},
  'neon-dotprod': {},
  neon: {},
  portable: environment('default', 'SSE41', 'SSE4_2'),
}

function environment(aten: string, onednn: string, mkl: string): Record<string, string> {
  return {
    ATEN_CPU_CAPABILITY: aten,
    ONEDNN_MAX_CPU_ISA: onednn,
    DNNL_MAX_CPU_ISA: onednn,
    MKL_ENABLE_INSTRUCTIONS: mkl,
  }
}

/** Environment that limits the process of an implementation to `instructionSet`; undefined: no limit. */
export function bindingEnvironment(
  { kind, unbound }: Pick<Implementation, 'kind' | 'unbound'>,
  instructionSet: InstructionSet | undefined,
): Readonly<Record<string, string>> {
  return instructionSet === undefined || kind === 'executor' || unbound !== undefined
    ? {}
    : BASELINE_ENVIRONMENT[instructionSet]
}

/** Why an implementation cannot be held to an instruction set; undefined if it can, or if none is named. */
export function bindingNote(
  { unbound }: Pick<Implementation, 'unbound'>,
  instructionSet: InstructionSet | undefined,
): string | undefined {
  return instructionSet === undefined || unbound === undefined ? undefined : `not held to ${instructionSet}: ${unbound}`
}
