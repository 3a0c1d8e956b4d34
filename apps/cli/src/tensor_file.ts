/**
 * Named float32 tensors in one file, in the safetensors format, which Python reads with `safetensors.numpy.load_file`:
 *
 *   8 bytes    N, little-endian
 *   N bytes    JSON: name → { dtype: "F32", shape, data_offsets: [begin, end] }, padded with spaces
 *   the rest   the elements, little-endian and row-major; offsets count from its begin
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import type { Tensor } from '@cudnn-rnn/rnn'
import { codedRangeError } from './coded_error.js'

interface Entry {
  readonly dtype: 'F32'
  readonly shape: readonly number[]
  readonly data_offsets: readonly [number, number]
}

const LENGTH_BYTES = 8

/** Writes beside and renames: a reader never sees half a file. */
export async function writeTensorFile(path: string, tensors: ReadonlyMap<string, Tensor>): Promise<void> {
  let end = 0
  const entries = [...tensors].map(([name, { data, shape }]): [string, Entry] => {
    const begin = end
    end += data.length * Float32Array.BYTES_PER_ELEMENT
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }]
  })
  const json = JSON.stringify(Object.fromEntries(entries))
  const header = new TextEncoder().encode(json.padEnd(Math.ceil(json.length / LENGTH_BYTES) * LENGTH_BYTES))
  const length = new BigUint64Array([BigInt(header.length)])
  const parts = [...tensors.values()].map(({ data }) => Float32Array.from(data))
  await writeFile(`${path}.tmp`, [length, header, ...parts].map(bytesOf))
  await rename(`${path}.tmp`, path)
}

/** Throws RangeError `ERR_TENSOR_FILE` when the file is missing, cut short or something else. */
export async function readTensorFile(path: string): Promise<ReadonlyMap<string, Tensor<Float32Array>>> {
  try {
    const bytes = new Uint8Array(await readFile(path))
    const view = new DataView(bytes.buffer)
    const dataBegin = LENGTH_BYTES + Number(view.getBigUint64(0, true))
    const header = new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(LENGTH_BYTES, dataBegin))
    const entries = Object.entries(JSON.parse(header) as Record<string, Entry>)
    return new Map(
      entries.map(
        ([
          name,
          {
            shape,
            data_offsets: [begin, end],
          },
        ]) => {
          const elements = bytes.buffer.slice(dataBegin + begin, dataBegin + end)
          if (elements.byteLength !== end - begin) throw new RangeError(`${name} lies past the end of the file`)
          return [name, { data: new Float32Array(elements), shape }]
        },
      ),
    )
  } catch (cause) {
    const message = `Cannot load tensors as ${path} must be a safetensors file: ${(cause as Error).message}`
    throw Object.assign(codedRangeError('ERR_TENSOR_FILE', message, { path }), { cause })
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
