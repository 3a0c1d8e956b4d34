import { corrupt, unsupported, WeightFileError } from '../errors.js'

/**
 * Python's pickle format as far as `torch.save` writes tensors and plain containers with it: a stack machine whose
 * opcodes are listed in CPython's pickletools.py. Nothing is ever called: a global name outside the allow-list ends the
 * reading, and those inside it build the values below.
 */
export type PickleValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | Uint8Array
  | PickleValue[]
  | PickleDict
  | PickleTensor
  | PickleGlobal
  | PickleStorage

/** Keys of dicts; others have no name that a tensor could be part of. */
export type PickleKey = string | number | bigint | boolean

/** A dict or OrderedDict; keys are kept in order. */
export class PickleDict extends Map<PickleKey, PickleValue> {}

/** A name that the pickle mentions; only allow-listed ones come into being. */
class PickleGlobal {
  constructor(readonly path: string) {}
}

/** A storage named by a persistent id: `('storage', <class>, key, location, count)`. */
export class PickleStorage {
  constructor(
    /** As `FloatStorage`. */
    readonly type: string,
    readonly key: string,
    readonly count: number,
  ) {}
}

/** What `torch._utils._rebuild_tensor_v2` is given. */
export class PickleTensor {
  constructor(
    readonly storage: PickleStorage,
    /** In elements. */
    readonly offset: number,
    readonly shape: readonly number[],
    readonly strides: readonly number[],
  ) {}
}

const ORDERED_DICT = 'collections.OrderedDict'
const REBUILD_TENSOR = 'torch._utils._rebuild_tensor_v2'
const REBUILD_PARAMETER = 'torch._utils._rebuild_parameter'
const STORAGE = /^torch\.(\w+Storage)$/
const DTYPE = /^torch\.[a-z]+\d*$/

const isAllowed = (path: string) =>
  [ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER].includes(path) || STORAGE.test(path) || DTYPE.test(path)

/** Marks a position on the stack. */
const MARK = Symbol('mark')

/**
 * What values take in memory, in bytes: a single byte of a pickle makes an empty dict, or puts a value on the stack once
 * more. Texts take their length besides.
 */
const COSTS = Object.freeze({ reference: 16, text: 48, list: 64, record: 96, bytes: 160, dict: 256 })

/** Storages are numbered: their keys are a few digits. */
const LONGEST_KEY = 255
/** As in PyTorch. */
const MOST_AXES = 64

/** Of a name that is refused, so much is shown. */
const LONGEST_SHOWN = 200

/** Any pickle may take this much, whatever its size. */
const FREE_MEMORY = 2 ** 25

/**
 * The value of one pickle.
 *
 * @param fileBytes size of the file that the pickle is in, unpacked: its values may take three times that much memory.
 * @throws WeightFileError `ERR_WEIGHTS_PICKLE` for a name outside the allow-list or an opcode that builds other things;
 *   `ERR_WEIGHTS_CORRUPT` for bytes that are no pickle; `ERR_WEIGHTS_UNSUPPORTED` for one of too many values
 */
export function readPickle(path: string, bytes: Uint8Array, fileBytes: number): PickleValue {
  return new PickleMachine(path, bytes, FREE_MEMORY + 3 * fileBytes).run()
}

class PickleMachine {
  readonly #path: string
  readonly #bytes: Uint8Array
  readonly #view: DataView
  readonly #memo = new Map<number, PickleValue>()
  readonly #stack: (PickleValue | typeof MARK)[] = []
  #position = 0
  #memory: number

  constructor(path: string, bytes: Uint8Array, memory: number) {
    this.#path = path
    this.#memory = memory
    this.#bytes = bytes
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  run(): PickleValue {
    for (;;) {
      const opcode = this.#take(1)[0]!
      if (opcode === 0x2e) return this.#pop() // STOP
      const act = OPCODES[opcode]
      if (act === undefined) throw this.#refused(`opcode 0x${opcode.toString(16)} builds something else`)
      act(this.#hands)
    }
  }

  /** What the opcodes work with. */
  readonly #hands: Hands = {
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
      return size === 2 ? this.#view.getUint16(at, true) : this.#view.getUint32(at, true)
    },
    int32: () => this.#view.getInt32(this.#advance(4), true),
    // Big-endian, unlike everything else in a pickle.
    float64: () => this.#view.getFloat64(this.#advance(8), false),
    take: (length) => this.#take(length),
    line: () => {
      const end = this.#bytes.indexOf(0x0a, this.#position)
      if (end < 0) throw corrupt(this.#path, 'its pickle is cut')
      const text = utf8(this.#bytes.subarray(this.#position, end))
      this.#position = end + 1
      return text
    },
    remember: (index) => {
      this.#charge(COSTS.text)
      this.#memo.set(index ?? this.#memo.size, this.#hands.peek())
    },
    recall: (index) => {
      const value = this.#memo.get(index)
      if (value === undefined) throw corrupt(this.#path, `its pickle recalls ${index}, which was not stored`)
      this.#charge(COSTS.reference)
      this.#stack.push(value)
    },
    charge: (cost) => this.#charge(cost),
    global: (name) => {
      if (!isAllowed(name)) throw this.#refused(`it asks for ${name.slice(0, LONGEST_SHOWN)}`)
      return new PickleGlobal(name)
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

  #refused(rule: string): WeightFileError {
    return new WeightFileError(
      'ERR_WEIGHTS_PICKLE',
      `Cannot read pickle as only tensors and plain containers are allowed, nothing is executed: ${rule}. Save the state_dict, or use safetensors`,
      { path: this.#path },
    )
  }
}

interface Hands {
  push(value: PickleValue): void
  mark(): void
  pop(): PickleValue
  peek(): PickleValue
  popToMark(): PickleValue[]
  unsigned(size: 1 | 2 | 4): number
  int32(): number
  float64(): number
  take(length: number): Uint8Array
  line(): string
  remember(index?: number): void
  recall(index: number): void
  charge(cost: number): void
  global(name: string): PickleGlobal
  wrong(rule: string): Error
}

/** Opcodes by byte; those that are not here build what no weight file needs. */
const OPCODES: Readonly<Record<number, (hands: Hands) => void>> = {
  128: (h) => void h.take(1), // PROTO
  149: (h) => void h.take(8), // FRAME
  40: (h) => h.mark(), // MARK
  48: (h) => void h.pop(), // POP
  78: (h) => h.push(null), // NONE
  136: (h) => h.push(true), // NEWTRUE
  137: (h) => h.push(false), // NEWFALSE
  74: (h) => h.push(h.int32()), // BININT
  75: (h) => h.push(h.unsigned(1)), // BININT1
  77: (h) => h.push(h.unsigned(2)), // BININT2
  138: (h) => h.push(long(h.take(h.unsigned(1)))), // LONG1
  71: (h) => h.push(h.float64()), // BINFLOAT
  88: (h) => h.push(utf8(h.take(h.unsigned(4)))), // BINUNICODE
  140: (h) => h.push(utf8(h.take(h.unsigned(1)))), // SHORT_BINUNICODE
  85: (h) => h.push(utf8(h.take(h.unsigned(1)))), // SHORT_BINSTRING
  66: (h) => h.push(h.take(h.unsigned(4))), // BINBYTES
  67: (h) => h.push(h.take(h.unsigned(1))), // SHORT_BINBYTES
  125: (h) => h.push(new PickleDict()), // EMPTY_DICT
  93: (h) => h.push([]), // EMPTY_LIST
  41: (h) => h.push([]), // EMPTY_TUPLE
  116: (h) => h.push(h.popToMark()), // TUPLE
  133: (h) => h.push([h.pop()]), // TUPLE1
  134: (h) => h.push([h.pop(), h.pop()].reverse()), // TUPLE2
  135: (h) => h.push([h.pop(), h.pop(), h.pop()].reverse()), // TUPLE3
  97: (h) => append(h, [h.pop()]), // APPEND
  101: (h) => append(h, h.popToMark()), // APPENDS
  115: (h) => setItems(h, [h.pop(), h.pop()].reverse()), // SETITEM
  117: (h) => setItems(h, h.popToMark()), // SETITEMS
  113: (h) => h.remember(h.unsigned(1)), // BINPUT
  114: (h) => h.remember(h.unsigned(4)), // LONG_BINPUT
  148: (h) => h.remember(), // MEMOIZE
  104: (h) => h.recall(h.unsigned(1)), // BINGET
  106: (h) => h.recall(h.unsigned(4)), // LONG_BINGET
  99: (h) => h.push(h.global(`${h.line()}.${h.line()}`)), // GLOBAL
  147: (h) => h.push(stackGlobal(h)), // STACK_GLOBAL
  81: (h) => h.push(storageOf(h, h.pop())), // BINPERSID
  82: (h) => reduce(h), // REDUCE
  98: (h) => void h.pop(), // BUILD: attributes, such as a state dict's _metadata
}

function costOf(value: PickleValue): number {
  if (typeof value === 'string') return COSTS.text + value.length
  if (typeof value !== 'object' || value === null) return COSTS.reference
  if (Array.isArray(value)) return COSTS.list + COSTS.reference * value.length
  if (value instanceof PickleDict) return COSTS.dict
  return value instanceof Uint8Array ? COSTS.bytes : COSTS.record
}

function stackGlobal(hands: Hands): PickleGlobal {
  const name = hands.pop()
  const module = hands.pop()
  if (typeof module === 'string' && typeof name === 'string') return hands.global(`${module}.${name}`)
  throw hands.wrong('its pickle asks for a name that is no text')
}

function append(hands: Hands, values: PickleValue[]): void {
  const list = hands.peek()
  if (!Array.isArray(list)) throw hands.wrong('its pickle appends to something that is no list')
  hands.charge(COSTS.reference * values.length)
  for (const value of values) list.push(value)
}

function setItems(hands: Hands, flat: PickleValue[]): void {
  const dict = hands.peek()
  if (!(dict instanceof PickleDict) || flat.length % 2 !== 0) {
    throw hands.wrong('its pickle sets items of something that is no dict')
  }
  hands.charge(COSTS.text * flat.length)
  for (let index = 0; index < flat.length; index += 2) {
    const key = flat[index]!
    if (!isKey(key)) throw hands.wrong('a key of its dicts is neither text nor a number')
    dict.set(key, flat[index + 1]!)
  }
}

function storageOf(hands: Hands, id: PickleValue): PickleStorage {
  const [tag, type, key, , count] = Array.isArray(id) ? id : []
  const className = type instanceof PickleGlobal ? STORAGE.exec(type.path)?.[1] : undefined
  const isNamed = typeof key === 'string' && key.length <= LONGEST_KEY
  if (tag === 'storage' && className !== undefined && isNamed && isCount(count)) {
    return new PickleStorage(className, key, count)
  }
  throw hands.wrong('its pickle names something that is no storage')
}

/** The calls that are understood, none of which is made. */
function reduce(hands: Hands): void {
  const parameters = hands.pop()
  const called = hands.pop()
  if (!(called instanceof PickleGlobal) || !Array.isArray(parameters)) {
    throw hands.wrong('its pickle calls something that is no function')
  }
  if (called.path === ORDERED_DICT && parameters.length === 0) {
    hands.push(new PickleDict())
    return
  }
  if (called.path === REBUILD_PARAMETER && parameters[0] instanceof PickleTensor) {
    hands.push(parameters[0])
    return
  }
  const [storage, offset, shape, strides] = parameters
  if (
    called.path === REBUILD_TENSOR &&
    storage instanceof PickleStorage &&
    isCount(offset) &&
    isCounts(shape) &&
    isCounts(strides) &&
    shape.length === strides.length
  ) {
    hands.push(new PickleTensor(storage, offset, shape, strides))
    return
  }
  throw hands.wrong(`its pickle calls ${called.path} with other parameters than a tensor's`)
}

function isKey(value: PickleValue): value is PickleKey {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
}

function isCount(value: PickleValue | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function isCounts(value: PickleValue | undefined): value is number[] {
  return Array.isArray(value) && value.length <= MOST_AXES && value.every(isCount)
}

/** A little-endian two's complement integer: a number where it is exact. */
function long(bytes: Uint8Array): number | bigint {
  let value = 0n
  for (let index = bytes.length - 1; index >= 0; index--) value = (value << 8n) | BigInt(bytes[index]!)
  value = BigInt.asIntN(8 * bytes.length, value)
  return Number.isSafeInteger(Number(value)) ? Number(value) : value
}

function utf8(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}
