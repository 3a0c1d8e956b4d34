import { hasInstructionSet, WASM_INSTRUCTION_SETS, type WasmInstructionSet } from '../src/instruction_set.js'

/** The instruction sets of this engine, best first. */
export function instructionSetsUnderTest(): readonly WasmInstructionSet[] {
  return WASM_INSTRUCTION_SETS.filter(hasInstructionSet)
}
