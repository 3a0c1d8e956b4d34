import { elementCount } from '@cudnn-rnn/canonical'
import type { Random } from '@cudnn-rnn/fuzzing'
import { someName, someShape } from './hostile_values.js'

type Library = typeof import('h5wasm')['default']
type Group = InstanceType<Library['Group']>

let written = 0

/**
 * A file of the HDF5 library whose links are then led elsewhere: words that are addresses are exchanged for others, so that
 * groups contain themselves, datasets share their elements, and headers are in elements.
 */
export async function hdf5File(random: Random): Promise<{ bytes: Uint8Array; heldBytes: number }> {
  const { default: h5wasm } = await import('h5wasm')
  const module = await h5wasm.ready
  module.activate_throwing_error_handler()
  const { FS } = module
  const name = `/constructed_${written++}.h5`
  const file = new h5wasm.File(name, 'w')
  try {
    fill(file, random, 0)
    if (random.chance(0.5)) file.create_attribute('model_config', random.pick(CONFIGS))
    file.flush()
  } finally {
    file.close()
  }
  const bytes = FS.readFile(name).slice()
  FS.unlink(name)
  if (random.chance(0.8)) relink(bytes, random)
  return { bytes, heldBytes: bytes.length }
}

const layer = (config: string) => `{"config":{"layers":[{"class_name":"LSTM","config":${config}}]}}`
const CONFIGS = [
  layer('{"name":"lstm"}'),
  layer('{"name":"lstm","activation":{"toString":1}}'),
  layer(`{"name":"lstm","activation":${'['.repeat(150)}${']'.repeat(150)}}`),
  layer('{"name":"__proto__","__proto__":{"go_backwards":true}}'),
  `${'{"config":'.repeat(3000)}1${'}'.repeat(3000)}`,
  'no json',
]

/** Layers of Keras and other groups, with links among them. */
function fill(group: Group, random: Random, depth: number): void {
  const attempt = (make: () => void) => {
    try {
      make()
    } catch {
      // The library refuses some names and shapes: the file omits them.
    }
  }
  for (let item = random.pick([1, 2, 3, 6]); item > 0; item--) {
    const name = random.chance(0.7)
      ? random.pick(['layers', 'lstm', 'cell', 'vars', '0', '1', '2', 'kernel:0'])
      : someName(random)
    const kind = random.below(10)
    attempt(() => {
      if (kind < 4 && depth < 5) fill(group.create_group(name), random, depth + 1)
      else if (kind < 8) {
        const shape = someShape(random).filter((size) => size > 0 && size <= 64)
        const count = elementCount(shape)
        const options = random.chance(0.3) && shape.length > 0 ? { chunks: shape, compression: 'gzip' as const } : {}
        group.create_dataset({ name, data: new Float32Array(Math.min(count, 65_536)), shape, dtype: '<f', ...options })
      } else if (kind < 9) group.create_soft_link(random.pick(['/', '/layers', '..', name]), name)
      else group.create_dataset({ name, data: ['text', 'x'.repeat(random.below(1000))] })
    })
  }
}

function relink(bytes: Uint8Array, random: Random): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const places: number[] = []
  for (let at = 8; at + 8 <= bytes.length; at += 8) {
    const value = view.getBigUint64(at, true)
    if (value >= 48n && value < BigInt(bytes.length)) places.push(at)
  }
  if (places.length === 0) return
  for (let change = random.pick([1, 1, 2, 4]); change > 0; change--) {
    const from = view.getBigUint64(random.pick(places), true)
    view.setBigUint64(random.pick(places), random.chance(0.9) ? from : random.number(from), true)
  }
}
