import type { Random } from '@cudnn-rnn/fuzzing'
import { someName, someShape, someSize } from './hostile_values.js'
import { OPS, PickleBytes } from './pickle_bytes.js'
import { type ZipFile, zipBytes } from './zip_bytes.js'

const TYPES = ['FloatStorage', 'FloatStorage', 'HalfStorage', 'DoubleStorage', 'LongStorage', 'constructorStorage']
const GLOBALS = [
  ['torch._utils', '_rebuild_tensor_v2'],
  ['collections', 'OrderedDict'],
  ['torch', 'FloatStorage'],
  ['torch', 'float32'],
  ['os', 'system'],
  ['builtins', 'eval'],
  ['__proto__', 'constructor'],
] as const
const PLAIN_OPS = Object.values(OPS).filter((code) => code !== OPS.stop)
const STORAGES = ['0', '1', '2']

/** A checkpoint of PyTorch: a pickle with a memo graph, mostly of dicts of tensors, over a few shared storages. */
export function torchFile(random: Random): { bytes: Uint8Array; heldBytes: number } {
  const counts = STORAGES.map(() => random.pick([0, 1, 16, 16, 64, 64, 256, 256, 1024, 65_536]))
  const pickle = new PickleBytes()
  if (random.chance(0.5)) stateDict(pickle, random, counts)
  else program(pickle, random, counts)
  const deflate = random.chance(0.25)
  const storages = counts.map((count, key): ZipFile => {
    return { name: `m/data/${key}`, bytes: new Uint8Array(4 * count), deflate }
  })
  const files: ZipFile[] = [{ name: 'm/data.pkl', bytes: pickle.finish(), deflate: random.chance(0.15) }, ...storages]
  if (random.chance(0.1)) files.push({ name: 'm/byteorder', bytes: new TextEncoder().encode('little') })
  return { bytes: zipBytes(files), heldBytes: files.reduce((sum, { bytes }) => sum + bytes.length, 0) }
}

/** Networks whose tensors are views of the storages, the same ones again and again. */
function stateDict(pickle: PickleBytes, random: Random, counts: readonly number[]): void {
  const units = random.pick([1, 2, 4, 8, 16])
  const gates = random.pick([1, 3, 4])
  const shared = random.chance(0.5)
  pickle.op(OPS.emptyDict, OPS.mark)
  for (let network = random.pick([1, 1, 1, 2, 2, 2, 8, random.pick([30, 200])]); network > 0; network--) {
    for (const side of ['weight_ih_l0', 'weight_hh_l0']) {
      const offset = shared ? 0 : random.below(64)
      const view = {
        key: random.pick(STORAGES),
        count: counts[0]!,
        offset,
        shape: [gates * units, units],
        strides: [units, 1],
      }
      pickle.text(`n${network}.${side}`).tensor(view)
    }
  }
  pickle.op(OPS.setItems)
}

/** Any program: values are pushed, remembered and put into each other; a few of them make no sense. */
function program(pickle: PickleBytes, random: Random, counts: readonly number[]): void {
  let remembered = 0
  const value = () => {
    const kind = random.below(12)
    if (kind < 3) pickle.text(someName(random))
    else if (kind < 4) pickle.int(someSize(random))
    else if (kind < 5) pickle.op(random.pick([OPS.none, OPS.true, OPS.false]))
    else if (kind < 7) pickle.op(random.pick([OPS.emptyDict, OPS.emptyList, OPS.emptyTuple]))
    else if (kind < 10 && remembered > 0) pickle.get(random.below(remembered))
    else {
      const shape = someShape(random)
      const strides = shape.map(() => random.pick([0, 1, 1, 2, 16]))
      const key = random.pick([...STORAGES, 'missing', '__proto__'])
      const place = { key, count: counts[0]!, offset: random.pick([0, 0, 1, 2 ** 40]) }
      pickle.tensor({ ...place, type: random.pick(TYPES), shape, strides })
    }
  }
  pickle.op(OPS.emptyDict).put(remembered++)
  for (let step = random.pick([3, 20, 20, 200]); step > 0; step--) {
    const kind = random.below(12)
    if (kind < 4) {
      pickle.get(0).text(someName(random))
      value()
      pickle.op(OPS.setItem, OPS.pop)
    } else if (kind < 6) {
      value()
      pickle.put(remembered++)
      pickle.op(OPS.pop)
    } else if (kind < 8) {
      // A value twice in a tuple, which is remembered: after n of them 2^n paths.
      pickle
        .get(remembered - 1)
        .get(remembered - 1)
        .op(OPS.tuple2)
        .put(remembered++)
        .op(OPS.pop)
    } else if (kind < 9) {
      pickle.op(OPS.emptyList).put(remembered++).op(OPS.mark)
      for (let item = random.below(5); item > 0; item--) value()
      pickle.op(OPS.appends, OPS.pop)
    } else if (kind < 10) {
      pickle.get(0).get(random.below(remembered))
      value()
      pickle.op(OPS.setItem, OPS.pop)
    } else if (kind < 11) value()
    else if (random.chance(0.2)) pickle.op(random.pick(PLAIN_OPS))
    else if (random.chance(0.1)) {
      const [module, name] = random.pick<readonly [string, string]>(GLOBALS)
      pickle.global(module, name)
    } else if (random.chance(0.05)) {
      pickle.text(someName(random)).text(someName(random)).op(OPS.stackGlobal)
    }
  }
  if (random.chance(0.9)) pickle.get(0)
  // Sometimes the value at the end is below a chain of containers.
  for (let depth = random.chance(0.1) ? random.below(3000) : 0; depth > 0; depth--) pickle.op(OPS.tuple1)
}
