import { deflateRawSync } from 'node:zlib'
import type { Random } from '@cudnn-rnn/fuzzing'
import { bytesFor, someName, someShape } from './hostile_values.js'
import { type ZipFile, zipBytes } from './zip_bytes.js'

const DTYPES = ['<f4', '<f4', '<f8', '<f2', '>f4', '<i8', '|O', '|S5', '<c8', "constructor'"]

/** One `.npy` array whose header is mostly true. */
export function npyBytes(random: Random): Uint8Array {
  const shape = someShape(random)
  const dtype = random.pick(DTYPES)
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(', ')
  const order = random.pick(['False', 'False', 'True', 'true'])
  const header = `{'descr': '${dtype}', 'fortran_order': ${order}, 'shape': (${sizes}), }\n`
  const version = random.pick([1, 1, 2, 3])
  const lengthBytes =
    version === 1 ? [header.length & 0xff, header.length >> 8] : [header.length & 0xff, header.length >> 8, 0, 0]
  const claimed = random.chance(0.95) ? lengthBytes : lengthBytes.map(() => random.below(256))
  const text = new TextEncoder().encode(header)
  return Uint8Array.from([
    0x93,
    0x4e,
    0x55,
    0x4d,
    0x50,
    0x59,
    version,
    0,
    ...claimed,
    ...text,
    ...bytesFor(shape, 4, random),
  ])
}

/** A `.npz` archive with a corrupt directory: sizes, offsets, methods, two files in one. */
export function npzFile(random: Random): { bytes: Uint8Array; heldBytes: number } {
  const unnamed = random.chance(0.3)
  const files = Array.from({ length: random.pick([1, 1, 2, 2, 3, 4, 30]) }, (_, index): ZipFile => {
    const bytes = npyBytes(random)
    const deflate = random.chance(0.25)
    const name = `${unnamed ? `arr_${index}` : someName(random)}.npy`
    const claims = random.chance(0.1) ? lies(random, deflate ? deflateRawSync(bytes).length : bytes.length) : {}
    return { name, bytes, deflate, claims, ...(index > 0 && random.chance(0.05) && { sameAs: random.below(index) }) }
  })
  return { bytes: zipBytes(files), heldBytes: files.reduce((sum, { bytes }) => sum + bytes.length, 0) }
}

function lies(random: Random, length: number): NonNullable<ZipFile['claims']> {
  const number = () => Number(random.number(BigInt(length)) & 0xffffffffn)
  const field = random.pick(['size', 'packed', 'offset', 'checksum', 'method', 'flags'] as const)
  return { [field]: field === 'method' ? random.pick([0, 1, 8, 9, 14, 93, 99]) : number() }
}
