import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { OPS, PickleBytes } from '../fuzz/pickle_bytes.js'
import { readPickle } from '../src/files/pickle_reader.js'
import { PickleDict, PickleObject, PickleStorage, PickleTensor, UnreadTensor } from '../src/files/pickle_values.js'

const read = (bytes: Uint8Array) => readPickle('model.pt', bytes, bytes.length).value
/** The value of a pickle of these bytes and STOP. */
const unpickled = (...bytes: readonly number[]) => read(Uint8Array.from([0x80, 2, ...bytes, OPS.stop]))
const corrupt = coded('ERR_WEIGHTS_CORRUPT')
const ascii = (text: string) => [...new TextEncoder().encode(text)]

describe('readPickle', () => {
  it.each([
    ['NONE', [0x4e], null],
    ['NEWTRUE', [0x88], true],
    ['NEWFALSE', [0x89], false],
    ['BININT', [0x4a, 0xff, 0xff, 0xff, 0xff], -1],
    ['BININT of 2³¹ - 1', [0x4a, 0xff, 0xff, 0xff, 0x7f], 2 ** 31 - 1],
    ['BININT1', [0x4b, 0xff], 255],
    ['BININT2', [0x4d, 0, 1], 256],
    ['LONG1 of no bytes', [0x8a, 0], 0],
    ['LONG4', [0x8b, 2, 0, 0, 0, 1, 2], Uint8Array.of(1, 2)],
    ['LONG1 that is negative', [0x8a, 1, 0xff], -1],
    ['LONG1 of 255', [0x8a, 2, 0xff, 0], 255],
    ['LONG1 of -2⁵³ + 1', [0x8a, 7, 1, 0, 0, 0, 0, 0, 0xe0], -(2 ** 53) + 1],
    ['LONG1 that is not exact as a number', [0x8a, 7, 1, 0, 0, 0, 0, 0, 0x20], 2n ** 53n + 1n],
    ['LONG1 of 2⁶³', [0x8a, 9, 0, 0, 0, 0, 0, 0, 0, 0x80, 0], 2n ** 63n],
    ['BINFLOAT', [0x47, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0], 1.5],
    ['BINUNICODE', [0x58, 2, 0, 0, 0, 0xc3, 0xa9], 'é'],
    ['SHORT_BINUNICODE', [0x8c, 2, 0xc3, 0xa9], 'é'],
    ['SHORT_BINSTRING', [0x55, 1, 0x61], 'a'],
    ['BINUNICODE8', [0x8d, 1, 0, 0, 0, 0, 0, 0, 0, 0x61], 'a'],
    ['BINSTRING', [0x54, 1, 0, 0, 0, 0x61], 'a'],
    ['BINBYTES8', [0x8e, 1, 0, 0, 0, 0, 0, 0, 0, 9], Uint8Array.of(9)],
    ['BYTEARRAY8', [0x96, 1, 0, 0, 0, 0, 0, 0, 0, 9], Uint8Array.of(9)],
    ['EMPTY_SET and ADDITEMS', [0x8f, 0x28, 0x4b, 1, 0x90], [1]],
    ['FROZENSET', [0x28, 0x4b, 1, 0x91], [1]],
    ['POP_MARK', [0x4b, 1, 0x28, 0x4b, 2, 0x31], 1],
    ['DUP', [0x4b, 1, 0x32, 0x86], [1, 1]],
    ['BINBYTES', [0x42, 2, 0, 0, 0, 1, 2], Uint8Array.of(1, 2)],
    ['SHORT_BINBYTES', [0x43, 2, 1, 2], Uint8Array.of(1, 2)],
    ['EMPTY_LIST', [0x5d], []],
    ['EMPTY_TUPLE', [0x29], []],
    ['TUPLE', [0x28, 0x4b, 1, 0x4b, 2, 0x74], [1, 2]],
    ['TUPLE of nothing', [0x28, 0x74], []],
    ['TUPLE1', [0x4b, 1, 0x85], [1]],
    ['TUPLE2', [0x4b, 1, 0x4b, 2, 0x86], [1, 2]],
    ['TUPLE3', [0x4b, 1, 0x4b, 2, 0x4b, 3, 0x87], [1, 2, 3]],
    ['APPEND', [0x5d, 0x4b, 1, 0x61], [1]],
    ['APPENDS', [0x5d, 0x28, 0x4b, 1, 0x4b, 2, 0x65], [1, 2]],
    ['APPENDS within an open mark', [0x28, 0x5d, 0x28, 0x4b, 1, 0x65, 0x74], [[1]]],
    ['POP', [0x4b, 1, 0x4b, 2, 0x30], 1],
    ['BUILD', [0x4b, 1, 0x7d, 0x62], 1],
    ['FRAME', [0x95, 2, 0, 0, 0, 0, 0, 0, 0, 0x4b, 1], 1],
    ['BINPUT and BINGET', [0x4b, 1, 0x71, 9, 0x30, 0x68, 9], 1],
    ['LONG_BINPUT and LONG_BINGET', [0x4b, 1, 0x72, 0, 1, 0, 0, 0x30, 0x6a, 0, 1, 0, 0], 1],
    ['MEMOIZE, which counts the stored values', [0x4b, 7, 0x94, 0x4b, 8, 0x94, 0x30, 0x30, 0x68, 1], 8],
    ['None from the memo', [0x4e, 0x71, 0, 0x30, 0x68, 0], null],
  ])('reads %s', (_, bytes, expected) => {
    expect(unpickled(...bytes)).toEqual(expected)
  })

  it('gives one list where a pickle recalls it', () => {
    const [first, second] = unpickled(0x5d, 0x71, 0, 0x68, 0, 0x86) as unknown[]
    expect(first).toBe(second)
  })

  it('reads dicts with keys of every kind, in their order', () => {
    const dict = unpickled(
      0x7d,
      0x28,
      0x8c,
      1,
      0x62,
      0x4b,
      1,
      0x4b,
      7,
      0x4b,
      2,
      0x88,
      0x4b,
      3,
      0x75,
      0x8c,
      1,
      0x61,
      0x4e,
      0x73,
    )
    expect(dict).toBeInstanceOf(PickleDict)
    expect([...(dict as PickleDict)]).toEqual([
      ['b', 1],
      [7, 2],
      [true, 3],
      ['a', null],
    ])
  })

  it.each([
    ['GLOBAL', [0x63, ...ascii('collections\nOrderedDict\n')]],
    ['STACK_GLOBAL', [0x8c, 11, ...ascii('collections'), 0x8c, 11, ...ascii('OrderedDict'), 0x93]],
  ])('replaces the call of a class named by %s', (_, global) => {
    expect(unpickled(...global, 0x29, 0x52)).toEqual(new PickleDict())
  })

  it('reads a tensor and a parameter', () => {
    const view = { key: '0', count: 6, offset: 1, shape: [2, 2], strides: [3, 1] }
    const tensor = new PickleTensor(new PickleStorage('FloatStorage', '0', 0), 1, [2, 2], [3, 1])
    expect(read(new PickleBytes().tensor(view).finish())).toEqual(tensor)
    const parameter = new PickleBytes().global('torch._utils', '_rebuild_parameter').tensor(view)
    expect(read(parameter.op(OPS.true, OPS.emptyDict, OPS.tuple3, OPS.reduce).finish())).toEqual(tensor)
  })

  it.each([
    ['a tensor of a negative offset', { offset: -1, shape: [1], strides: [1] }],
    ['a tensor with fewer strides than sizes', { shape: [1, 1], strides: [1] }],
    ['a tensor of a negative stride', { shape: [2], strides: [-1] }],
    ['a tensor of 65 dimensions', { shape: new Array<number>(65).fill(1), strides: new Array<number>(65).fill(1) }],
    ['a storage of a negative count', { count: -1, shape: [1], strides: [1] }],
    ['a storage with a long key', { key: '0'.repeat(256), shape: [1], strides: [1] }],
  ])('refuses %s', (_, view) => {
    expect(() => read(new PickleBytes().tensor({ key: '0', count: 1, ...view }).finish())).toThrow(corrupt)
  })

  it.each([
    ['an empty stack', []],
    ['a mark as the value', [0x28]],
    ['a tuple without a mark', [0x4b, 1, 0x74]],
    ['a tuple of two with one value', [0x4b, 1, 0x86]],
    ['a tuple that takes a mark', [0x28, 0x85]],
    ['an append to a number', [0x4b, 1, 0x4b, 2, 0x61]],
    ['an append to a dict', [0x7d, 0x4b, 2, 0x61]],
    ['items of a list', [0x5d, 0x28, 0x4b, 1, 0x4b, 2, 0x75]],
    ['a key without a value', [0x7d, 0x28, 0x4b, 1, 0x75]],
    ['a place of the memo where nothing is', [0x68, 0]],
    ['a global of numbers', [0x4b, 1, 0x4b, 2, 0x93]],
    ['a global without an end', [0x63, ...ascii('collections')]],
    ['a call of a number', [0x4b, 1, 0x29, 0x52]],
    ['an object of a number', [0x4b, 1, 0x29, 0x81]],
    ['a call of OrderedDict with numbers', [0x63, ...ascii('collections\nOrderedDict\n'), 0x4b, 1, 0x85, 0x85, 0x52]],
    ['a persistent id that is not a storage', [0x4b, 1, 0x51]],
    ['a text longer than the file', [0x58, 0xff, 0xff, 0xff, 0xff, 0x61]],
    ['a LONG1 that is cut', [0x8a, 9, 1]],
  ])('refuses %s', (_, bytes) => {
    expect(() => unpickled(...bytes)).toThrow(corrupt)
  })

  it('refuses a pickle without its end, wherever it is cut', () => {
    const whole = new PickleBytes().tensor({ key: '0', count: 1, shape: [1], strides: [1] }).finish()
    for (let length = 0; length < whole.length; length++) {
      expect(() => read(whole.subarray(0, length)), `${length} bytes`).toThrow(corrupt)
    }
  })

  it.each([
    ['os.system', [0x63, ...ascii('os\nsystem\n'), 0x29, 0x52], 'os.system'],
    [
      'builtins.eval by STACK_GLOBAL',
      [0x8c, 8, ...ascii('builtins'), 0x8c, 4, ...ascii('eval'), 0x93, 0x29, 0x52],
      'builtins.eval',
    ],
    ['the constructor of an object', [0x63, ...ascii('__proto__\nconstructor\n'), 0x29, 0x52], '__proto__.constructor'],
    ['NEWOBJ', [0x63, ...ascii('m\nA\n'), 0x29, 0x81], 'm.A'],
    ['NEWOBJ_EX', [0x63, ...ascii('m\nA\n'), 0x29, 0x7d, 0x92], 'm.A'],
    ['the result of a call that is called', [0x63, ...ascii('m\nf\n'), 0x29, 0x52, 0x29, 0x52], 'm.f'],
  ])('executes nothing: %s', (_, bytes, path) => {
    expect(unpickled(...bytes)).toMatchObject({ path })
    expect(unpickled(...bytes)).toBeInstanceOf(PickleObject)
  })

  it('holds the attributes and items of an object that is not built', () => {
    const object = unpickled(
      ...[0x63, ...ascii('m\nA\n'), 0x29, 0x81, 0x4b, 1, 0x61],
      ...[0x8c, 1, 0x61, 0x4b, 2, 0x73, 0x7d, 0x62],
    ) as PickleObject
    expect(object.attributes).toEqual([1, new PickleDict([['a', 2]]), new PickleDict()])
  })

  it('names entries under other keys by their places', () => {
    expect(unpickled(0x7d, 0x4e, 0x4b, 1, 0x73)).toEqual(new PickleDict([['(key 0)', 1]]))
  })

  it.each([
    ['torch.Size', 'torch\nSize\n', [0x4b, 2, 0x85, 0x85], [2]],
    ['collections.Counter', 'collections\nCounter\n', [0x7d, 0x85], new PickleDict()],
    ['collections.defaultdict', 'collections\ndefaultdict\n', [0x4e, 0x85], new PickleDict()],
    [
      'OrderedDict of pairs',
      'collections\nOrderedDict\n',
      [0x5d, 0x8c, 1, 0x61, 0x4b, 1, 0x86, 0x61, 0x85],
      new PickleDict([['a', 1]]),
    ],
    [
      'a tensor without elements',
      'torch._utils\n_rebuild_meta_tensor_no_storage\n',
      [0x4e, 0x4b, 2, 0x85, 0x86],
      new UnreadTensor('a tensor without elements', [2]),
    ],
  ])('replaces the call of %s', (_, global, parameters, expected) => {
    expect(unpickled(0x63, ...ascii(global), ...parameters, 0x52)).toEqual(expected)
  })

  it('reads no tensor whose sign is in a bit', () => {
    const global = (path: string) => [0x63, ...ascii(path)]
    const storage = [
      0x28,
      0x8c,
      7,
      ...ascii('storage'),
      ...global('torch\nFloatStorage\n'),
      0x8c,
      1,
      0x30,
      0x4e,
      0x4b,
      1,
      0x74,
      0x51,
    ]
    const bits = [0x7d, 0x8c, 3, ...ascii('neg'), 0x88, 0x73]
    const view = [0x28, ...storage, 0x4b, 0, 0x4b, 1, 0x85, 0x4b, 1, 0x85, 0x89, 0x4e, ...bits, 0x74]
    expect(unpickled(...global('torch._utils\n_rebuild_tensor_v2\n'), ...view, 0x52)).toBeInstanceOf(UnreadTensor)
  })

  it.each([
    ['TorchScript', [0x63, ...ascii('__torch__\nNet\n')]],
    ['INST', [0x28, 0x69, ...ascii('os\nsystem\n')]],
    ['OBJ', [0x28, 0x6f]],
    ['EXT1', [0x82, 1]],
    ['PERSID', [0x50, ...ascii('0\n')]],
  ])('refuses %s', (_, bytes) => {
    expect(() => unpickled(...bytes)).toThrow(coded('ERR_WEIGHTS_PICKLE'))
  })

  it('refuses values that take far more memory than the file', () => {
    const dicts = new PickleBytes().op(OPS.emptyList).repeat(OPS.emptyDict, 400_000)
    const objects = new PickleBytes()
    for (let object = 0; object < 400_000; object++) objects.op(0x68, 0, OPS.emptyTuple, 0x81)
    const type = new PickleBytes().global('m', 'A').op(0x71, 0)
    expect(() => read(dicts.finish())).toThrow(coded('ERR_WEIGHTS_UNSUPPORTED'))
    const bytes = Uint8Array.from([...type.finish().slice(0, -1), ...objects.finish().slice(2)])
    expect(() => readPickle('model.pt', bytes, 0)).toThrow(coded('ERR_WEIGHTS_UNSUPPORTED'))
  })
})
