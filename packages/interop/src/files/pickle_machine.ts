import { corrupt, unsupported, WeightFileError } from '../errors.js'
import { PickleDict, PickleGlobal, PickleObject, type PickleStorage, type PickleValue } from './pickle_values.js'

/**
 * Memory that values take, in bytes: a single byte of a pickle makes an empty dict, or pushes a value once more. A text
 * takes its length besides.
 */
export const COSTS = Object.freeze({
  reference: 16,
  text: 48,
  list: 64,
  record: 96,
  bytes: 160,
  dict: 256,
  object: 320,
})

const decoder = new TextDecoder()

/** Marks a position on the stack. */
const MARK = Symbol('mark')

/** Characters of a refused name that its message shows. */
const LONGEST_SHOWN = 200

/** Names of the classes of TorchScript's modules. */
const TORCHSCRIPT = /^__torch__\./
const TORCHSCRIPT_ADVICE =
  'This is a TorchScript archive: torch.save(torch.jit.load(file).state_dict(), target) writes its weights, unless it is quantized'

/** State of the opcodes: the stack, the memo and the bytes after the opcode. */
export class PickleMachine {
  /** Storages that the pickle names, as the first id of each key describes them. */
  readonly storages = new Map<string, PickleStorage>()
  /** The place of the next byte. */
  position: number
  readonly #path: string
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #memo = new Map<number, PickleValue>()
  readonly #stack: (PickleValue | typeof MARK)[] = []
  #memory: number

  constructor(path: string, bytes: Uint8Array, memory: number, begin: number) {
    this.position = begin
    this.#path = path
    this.#memory = memory
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  push(value: PickleValue): void {
    this.charge(costOf(value))
    this.#stack.push(value)
  }

  mark(): void {
    this.charge(COSTS.reference)
    this.#stack.push(MARK)
  }

  pop(): PickleValue {
    const value = this.#stack.pop()
    if (value === undefined || value === MARK) throw this.wrong('its pickle takes from an empty stack')
    return value
  }

  peek(): PickleValue {
    const value = this.pop()
    this.#stack.push(value)
    return value
  }

  popToMark(): PickleValue[] {
    const at = this.#stack.lastIndexOf(MARK)
    if (at < 0) throw this.wrong('its pickle has no mark')
    return this.#stack.splice(at).slice(1) as PickleValue[]
  }

  unsigned(size: 1 | 2 | 4 | 8): number {
    const at = this.#advance(size)
    if (size === 1) return this.#view.getUint8(at)
    if (size === 8) return Number(this.#view.getBigUint64(at, true))
    return size === 2 ? this.#view.getUint16(at, true) : this.#view.getUint32(at, true)
  }

  int32(): number {
    return this.#view.getInt32(this.#advance(4), true)
  }

  /** Big-endian, unlike everything else in a pickle. */
  float64(): number {
    return this.#view.getFloat64(this.#advance(8), false)
  }

  take(length: number): Uint8Array {
    const at = this.#advance(length)
    return this.#bytes.subarray(at, at + length)
  }

  text(length: number): string {
    return decoder.decode(this.take(length))
  }

  line(): string {
    const end = this.#bytes.indexOf(0x0a, this.position)
    if (end < 0) throw this.wrong('its pickle is cut')
    const text = decoder.decode(this.#bytes.subarray(this.position, end))
    this.position = end + 1
    return text
  }

  remember(index = this.#memo.size): void {
    this.charge(COSTS.text)
    this.#memo.set(index, this.peek())
  }

  recall(index: number): void {
    const value = this.#memo.get(index)
    if (value === undefined) throw this.wrong(`its pickle recalls ${index}, which was not stored`)
    this.charge(COSTS.reference)
    this.#stack.push(value)
  }

  charge(cost: number): void {
    this.#memory -= cost
    if (this.#memory >= 0) return
    throw unsupported(this.#path, 'its pickle has more values than a file of its size has use for')
  }

  /** The name of a function or class; throws for TorchScript's. */
  global(name: string): PickleGlobal {
    if (TORCHSCRIPT.test(name)) throw this.refused(`it names ${name.slice(0, LONGEST_SHOWN)}`, TORCHSCRIPT_ADVICE)
    return new PickleGlobal(name)
  }

  wrong(rule: string): WeightFileError {
    return corrupt(this.#path, rule)
  }

  /** The error of a pickle that is another program's. */
  refused(rule: string, advice: string): WeightFileError {
    return new WeightFileError(
      'ERR_WEIGHTS_PICKLE',
      `Cannot read pickle as it must be one of tensors and Python objects, nothing is executed: ${rule}. ${advice}`,
      { path: this.#path },
    )
  }

  #advance(length: number): number {
    const at = this.position
    if (at + length > this.#bytes.length) throw this.wrong('its pickle is cut')
    this.position += length
    return at
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
