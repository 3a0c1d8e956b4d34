import { ByteList } from './byte_list.js'

/** A tensor as `torch.save` writes one: a view of a storage. */
export interface PickledView {
  readonly key: string
  readonly type?: string
  readonly count: number
  readonly offset?: number
  readonly shape: readonly number[]
  readonly strides: readonly number[]
}

/** Writes pickles opcode by opcode, protocol 2. Source: CPython's pickletools.py. */
export class PickleBytes {
  readonly #list = new ByteList().bytes([0x80, 2])

  op(...codes: readonly number[]): this {
    this.#list.bytes(codes)
    return this
  }

  repeat(code: number, times: number): this {
    this.#list.bytes(new Uint8Array(times).fill(code))
    return this
  }

  text(value: string): this {
    const bytes = new TextEncoder().encode(value)
    this.#list.u8(0x58).u32(bytes.length).bytes(bytes)
    return this
  }

  int(value: number): this {
    this.#list.u8(0x4a).u32(value)
    return this
  }

  put(place: number): this {
    this.#list.u8(0x72).u32(place)
    return this
  }

  get(place: number): this {
    this.#list.u8(0x6a).u32(place)
    return this
  }

  global(module: string, name: string): this {
    this.#list.text(`c${module}\n${name}\n`)
    return this
  }

  tuple(items: readonly number[]): this {
    this.op(OPS.mark)
    for (const item of items) this.int(item)
    return this.op(OPS.tuple)
  }

  tensor({ key, type = 'FloatStorage', count, offset = 0, shape, strides }: PickledView): this {
    this.global('torch._utils', '_rebuild_tensor_v2').op(OPS.mark, OPS.mark)
    this.text('storage').global('torch', type).text(key).text('cpu').int(count).op(OPS.tuple, OPS.persistentId)
    this.int(offset).tuple(shape).tuple(strides).op(OPS.false)
    return this.global('collections', 'OrderedDict').op(OPS.emptyTuple, OPS.reduce, OPS.tuple, OPS.reduce)
  }

  finish(): Uint8Array {
    return this.#list.u8(OPS.stop).finish()
  }
}

/** Opcodes without an argument. */
export const OPS = Object.freeze({
  mark: 0x28,
  stop: 0x2e,
  pop: 0x30,
  none: 0x4e,
  persistentId: 0x51,
  reduce: 0x52,
  build: 0x62,
  append: 0x61,
  appends: 0x65,
  emptyList: 0x5d,
  emptyDict: 0x7d,
  emptyTuple: 0x29,
  setItem: 0x73,
  setItems: 0x75,
  tuple: 0x74,
  tuple1: 0x85,
  tuple2: 0x86,
  tuple3: 0x87,
  true: 0x88,
  false: 0x89,
  stackGlobal: 0x93,
  memoize: 0x94,
})
