import { corrupt, unsupported, WeightFileError } from '../errors.js'
import { COSTS, type PickleContext } from './pickle_context.js'
import { PICKLE_OPCODES } from './pickle_opcodes.js'
import { PickleDict, PickleGlobal, PickleObject, type PickleStorage, type PickleValue } from './pickle_values.js'

const decoder = new TextDecoder()

/** Marks a position on the stack. */
const MARK = Symbol('mark')

/** Characters of a refused name that its message shows. */
const LONGEST_SHOWN = 200

/** Any pickle may take this much memory, at any size. */
const FREE_MEMORY = 2 ** 25

/** A pickle that was read. */
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
  return new PickleMachine(path, bytes, FREE_MEMORY + 3 * fileBytes, begin).run()
}

class PickleMachine {
  readonly #path: string
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #memo = new Map<number, PickleValue>()
  readonly #stack: (PickleValue | typeof MARK)[] = []
  readonly #storages = new Map<string, PickleStorage>()
  #position: number
  #memory: number

  constructor(path: string, bytes: Uint8Array, memory: number, begin: number) {
    this.#position = begin
    this.#path = path
    this.#memory = memory
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  run(): PickleRead {
    for (;;) {
      const opcode = this.#context.unsigned(1)
      // STOP
      if (opcode === 0x2e) return { value: this.#pop(), storages: this.#storages, end: this.#position }
      const act = PICKLE_OPCODES[opcode]
      if (act === undefined)
        throw this.#refused(
          `opcode 0x${opcode.toString(16)} is not of protocols 2 to 5`,
          'Save the state_dict with torch.save, or use safetensors',
        )
      act(this.#context)
    }
  }

  readonly #context: PickleContext = {
    push: (value) => {
      this.#charge(costOf(value))
      this.#stack.push(value)
    },
    mark: () => {
      this.#charge(COSTS.reference)
      this.#stack.push(MARK)
    },
    pop: () => this.#pop(),
    peek: () => {
      const value = this.#pop()
      this.#stack.push(value)
      return value
    },
    popToMark: () => {
      const at = this.#stack.lastIndexOf(MARK)
      if (at < 0) throw corrupt(this.#path, 'its pickle has no mark')
      return this.#stack.splice(at).slice(1) as PickleValue[]
    },
    unsigned: (size) => {
      const at = this.#advance(size)
      if (size === 1) return this.#view.getUint8(at)
      if (size === 8) return Number(this.#view.getBigUint64(at, true))
      return size === 2 ? this.#view.getUint16(at, true) : this.#view.getUint32(at, true)
    },
    int32: () => this.#view.getInt32(this.#advance(4), true),
    // Big-endian, unlike everything else in a pickle.
    float64: () => this.#view.getFloat64(this.#advance(8), false),
    take: (length) => this.#take(length),
    text: (length) => decoder.decode(this.#take(length)),
    line: () => {
      const end = this.#bytes.indexOf(0x0a, this.#position)
      if (end < 0) throw corrupt(this.#path, 'its pickle is cut')
      const text = decoder.decode(this.#bytes.subarray(this.#position, end))
      this.#position = end + 1
      return text
    },
    remember: (index) => {
      this.#charge(COSTS.text)
      this.#memo.set(index ?? this.#memo.size, this.#context.peek())
    },
    recall: (index) => {
      const value = this.#memo.get(index)
      if (value === undefined) throw corrupt(this.#path, `its pickle recalls ${index}, which was not stored`)
      this.#charge(COSTS.reference)
      this.#stack.push(value)
    },
    charge: (cost) => this.#charge(cost),
    global: (name) => {
      if (TORCHSCRIPT.test(name)) throw this.#refused(`it names ${name.slice(0, LONGEST_SHOWN)}`, TORCHSCRIPT_ADVICE)
      return new PickleGlobal(name)
    },
    store: (storage) => {
      if (!this.#storages.has(storage.key)) this.#storages.set(storage.key, storage)
    },
    wrong: (rule) => corrupt(this.#path, rule),
  }

  #pop(): PickleValue {
    const value = this.#stack.pop()
    if (value === undefined || value === MARK) throw corrupt(this.#path, 'its pickle takes from an empty stack')
    return value
  }

  #take(length: number): Uint8Array {
    const at = this.#advance(length)
    return this.#bytes.subarray(at, at + length)
  }

  #advance(length: number): number {
    const at = this.#position
    if (at + length > this.#bytes.length) throw corrupt(this.#path, 'its pickle is cut')
    this.#position += length
    return at
  }

  #charge(cost: number): void {
    this.#memory -= cost
    if (this.#memory >= 0) return
    throw unsupported(this.#path, 'its pickle has more values than a file of its size has use for')
  }

  #refused(rule: string, advice: string): WeightFileError {
    return new WeightFileError(
      'ERR_WEIGHTS_PICKLE',
      `Cannot read pickle as it must be one of tensors and Python objects, nothing is executed: ${rule}. ${advice}`,
      { path: this.#path },
    )
  }
}

function costOf(value: PickleValue): number {
  if (typeof value === 'string') return COSTS.text + value.length
  if (typeof value !== 'object' || value === null) return COSTS.reference
  if (Array.isArray(value)) return COSTS.list + COSTS.reference * value.length
  if (value instanceof PickleDict) return COSTS.dict
  if (value instanceof PickleObject) return COSTS.object
  // The name of each of them is a separate text.
  if (value instanceof PickleGlobal) return COSTS.record + value.path.length
  return value instanceof Uint8Array ? COSTS.bytes : COSTS.record
}

/** Names of the classes of TorchScript's modules. */
const TORCHSCRIPT = /^__torch__\./
const TORCHSCRIPT_ADVICE =
  'This is a TorchScript archive: torch.save(torch.jit.load(file).state_dict(), target) writes its weights, unless it is quantized'
