import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'

/**
 * Instruction sets that the kernels exist in, best first: SIMD with fused multiply-adds ("relaxed SIMD", of Chrome 114,
 * Firefox 146 and Node.js 22) and SIMD without (Safari 16.4, Node.js 20).
 */
export const WASM_INSTRUCTION_SETS = Object.freeze(['relaxed-simd', 'simd128'] as const)

export type WasmInstructionSet = (typeof WASM_INSTRUCTION_SETS)[number]

// (module (func (result v128) …)) around a body, in the binary format.
const HEAD = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0]
// i32.const 0, i8x16.splat
const SPLAT = [65, 0, 253, 15]
/** Bodies that use one instruction of each set: i8x16.splat; f32x4.relaxed_madd. */
const PROBES: Readonly<Record<WasmInstructionSet, readonly number[]>> = {
  'relaxed-simd': [...SPLAT, ...SPLAT, ...SPLAT, 253, 0x85, 2],
  simd128: SPLAT,
}

/**
 * Whether this engine has `set`: it validates a module of a few bytes and loads nothing.
 *
 * @throws RangeError `ERR_INVALID_ARGUMENT` for another name
 * @example
 * ```ts
 * import { hasInstructionSet } from '@cudnn-rnn/wasm'
 *
 * console.log(hasInstructionSet('simd128')) // true
 * ```
 */
export function hasInstructionSet(set: WasmInstructionSet): boolean {
  if (!WASM_INSTRUCTION_SETS.includes(set)) {
    throw codedRangeError(
      'ERR_INVALID_ARGUMENT',
      `Cannot look for an instruction set as it must be one of ${WASM_INSTRUCTION_SETS.join(', ')}: current value is ${describeValue(set)}`,
      { value: set },
    )
  }
  const body = PROBES[set]
  // Sizes of the section and of the body, no locals, the body, end.
  const code = [10, body.length + 4, 1, body.length + 2, 0, ...body, 11]
  return typeof WebAssembly === 'object' && WebAssembly.validate(Uint8Array.from([...HEAD, ...code]))
}
