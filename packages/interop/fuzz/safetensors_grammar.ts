import type { Random } from '@cudnn-rnn/fuzzing'
import { someName, someShape } from './hostile_values.js'
import { safetensorsBytes } from './safetensors_bytes.js'

const DTYPES = ['F32', 'F32', 'F32', 'F64', 'F16', 'BF16', 'I64', 'BOOL', 'F8_E4M3', 'constructor', '__proto__', '']
const BYTES: ReadonlyMap<string, number> = new Map([
  ['F64', 8],
  ['F16', 2],
  ['BF16', 2],
  ['I64', 8],
  ['BOOL', 1],
])

/** A header whose tensors follow each other, overlap, leave gaps, or are not tensors. */
export function safetensorsFile(random: Random): { bytes: Uint8Array; heldBytes: number } {
  let end = 0
  const entries: string[] = []
  for (let tensor = random.pick([0, 1, 2, 3, 8, 50]); tensor > 0; tensor--) {
    const shape = someShape(random).filter((size) => size <= 65_536)
    const dtype = random.pick(DTYPES)
    const size = Math.min(
      2 ** 18,
      shape.reduce((product, length) => product * length, BYTES.get(dtype) ?? 4),
    )
    const begin = random.chance(0.97) ? end : Math.max(0, end + random.pick([-size, -4, 4, 1, -end]))
    end = begin + (random.chance(0.97) ? size : random.below(100))
    const value = random.chance(0.95)
      ? `{"dtype":${JSON.stringify(dtype)},"shape":${JSON.stringify(shape)},"data_offsets":[${begin},${end}]}`
      : random.pick([
          'null',
          '[]',
          '1',
          '{}',
          '{"dtype":"F32"}',
          '{"dtype":"F32","shape":[1e400],"data_offsets":[0,1]}',
          `${'['.repeat(500)}${']'.repeat(500)}`,
        ])
    entries.push(`${JSON.stringify(someName(random))}:${value}`)
  }
  const header = random.chance(0.95) ? `{${entries.join(',')}}` : random.pick(['[]', 'null', '"a"', '{', '{"a":'])
  const bytes = safetensorsBytes(header, random.chance(0.95) ? Math.max(0, end) : random.below(100))
  return { bytes, heldBytes: bytes.length }
}
