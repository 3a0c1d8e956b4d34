import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { elementCount, type Tensor } from '@cudnn-rnn/canonical'
import { codedError } from '@cudnn-rnn/canonical/rules'

/** float32 tensors, row-major and little-endian, one after the other in a file; the list of them travels beside it. */
export interface TensorFile {
  readonly path: string
  readonly tensors: readonly { readonly name: string; readonly shape: readonly number[] }[]
}

/** Tensors by name, in the order of the file. */
export type TensorRecord = Readonly<Record<string, Tensor<Float32Array>>>

export function writeTensorFile(path: string, tensors: TensorRecord): TensorFile {
  const file = openSync(path, 'w')
  try {
    for (const { data } of Object.values(tensors)) writeAll(file, data)
  } finally {
    closeSync(file)
  }
  return { path, tensors: Object.entries(tensors).map(([name, { shape }]) => ({ name, shape })) }
}

/** Reads all tensors of a file. Throws Error `ERR_TENSOR_FILE` if it is shorter than its list. */
export function readTensorFile({ path, tensors }: TensorFile): TensorRecord {
  const file = openSync(path, 'r')
  try {
    return Object.fromEntries(
      tensors.map(({ name, shape }) => {
        const data = new Float32Array(elementCount(shape))
        readAll(file, path, data)
        return [name, { data, shape }]
      }),
    )
  } finally {
    closeSync(file)
  }
}

// One system call moves at most 2 GiB, and may move fewer bytes than requested.
function writeAll(file: number, data: Float32Array): void {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
}

function readAll(file: number, path: string, data: Float32Array): void {
  const bytes = new Uint8Array(data.buffer)
  for (let done = 0; done < bytes.length; ) {
    const read = readSync(file, bytes, done, bytes.length - done, null)
    if (read === 0) {
      const message = `Cannot read ${path} as it must hold all tensors of its list: it ends ${bytes.length - done} bytes early`
      throw codedError('ERR_TENSOR_FILE', message, { path })
    }
    done += read
  }
}
