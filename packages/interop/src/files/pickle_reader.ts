import { PickleMachine } from './pickle_machine.js'
import { PICKLE_OPCODES } from './pickle_opcodes.js'
import type { PickleStorage, PickleValue } from './pickle_values.js'

/** Any pickle may take this much memory, at any size. */
const FREE_MEMORY = 2 ** 25
const STOP = 0x2e

export interface PickleRead {
  readonly value: PickleValue
  /** Storages that it names by persistent ids, as the first id of each key describes them. */
  readonly storages: ReadonlyMap<string, PickleStorage>
  /** The place of the byte behind it. */
  readonly end: number
}

/**
 * The value of one pickle: Python's format as far as `torch.save` writes it. It is a stack machine. Nothing is called or built:
 * the calls that make tensors and plain containers are replaced by their values, and every other object by its class's name
 * and the values that it would be built from.
 *
 * @param fileBytes size of the file that the pickle is in, unpacked: its values may take three times that much memory.
 * @param begin place of its first byte.
 * @throws WeightFileError `ERR_WEIGHTS_PICKLE` for TorchScript and for an opcode that torch.save does not write;
 *   `ERR_WEIGHTS_CORRUPT` for bytes that are not a pickle; `ERR_WEIGHTS_UNSUPPORTED` for one of too many values
 */
export function readPickle(path: string, bytes: Uint8Array, fileBytes: number, begin = 0): PickleRead {
  const machine = new PickleMachine(path, bytes, FREE_MEMORY + 3 * fileBytes, begin)
  for (;;) {
    const opcode = machine.unsigned(1)
    if (opcode === STOP) return { value: machine.pop(), storages: machine.storages, end: machine.position }
    const act = PICKLE_OPCODES[opcode]
    if (act === undefined) {
      const rule = `opcode 0x${opcode.toString(16)} is not of protocols 2 to 5`
      throw machine.refused(rule, 'Save the state_dict with torch.save, or use safetensors')
    }
    act(machine)
  }
}
