import { BYTES, checkArguments, integerFrom, methods, ownView, TEXT } from '@cudnn-rnn/canonical/rules'
import { corrupt } from '../errors.js'

/** Random access to the bytes of one file, wherever it lies: a disk, a server, memory. */
export interface ByteSource {
  /** Name in messages. */
  readonly name: string
  readonly size: number
  /** Exactly `length` bytes from `offset` on; rejects with a `CheckpointError` when they are not there. */
  read(offset: number, length: number): Promise<Uint8Array>
  close(): Promise<void>
}

/**
 * A source over bytes in memory, for {@link openCheckpointFrom} and `importWeights`.
 *
 * @param name in messages.
 * @throws TypeError `ERR_INVALID_ARGUMENT`
 * @example
 * ```ts
 * import { memorySource } from '@cudnn-rnn/rnn/checkpoint'
 *
 * const source = memorySource('model.bin', Uint8Array.of(1, 2, 3, 4))
 * console.log(source.size, await source.read(1, 2)) // 4 Uint8Array(2) [ 2, 3 ]
 * ```
 */
export function memorySource(name: string, bytes: Uint8Array): ByteSource {
  checkArguments('make a byte source', { name, bytes }, { name: TEXT, bytes: BYTES })
  const own = ownView(bytes, Uint8Array)
  return {
    name,
    size: own.length,
    read: async (offset, length) => {
      checkRange(name, own.length, offset, length)
      return own.subarray(offset, offset + length)
    },
    close: async () => undefined,
  }
}

/** The used members of a browser's `File` or `Blob`. Their DOM types are not named, as not every project has them. */
export interface BlobLike {
  readonly size: number
  slice(start: number, end: number): { arrayBuffer(): Promise<ArrayBuffer> }
}

/** The used methods of a {@link BlobLike}. */
export const BLOB = methods('a File or a Blob', 'slice', 'arrayBuffer')

/**
 * A source over a browser's `File` or `Blob`, which is read piece by piece. Throws TypeError `ERR_INVALID_ARGUMENT`.
 *
 * @example
 * ```ts
 * import { blobSource } from '@cudnn-rnn/rnn/checkpoint'
 *
 * const source = blobSource('model.index', new Blob([Uint8Array.of(1, 2, 3, 4)]))
 * console.log(source.size) // 4
 * ```
 */
export function blobSource(name: string, blob: BlobLike): ByteSource {
  checkArguments('make a byte source', { name, blob }, { name: TEXT, blob: BLOB })
  return {
    name,
    size: blob.size,
    read: async (offset, length) => {
      checkRange(name, blob.size, offset, length)
      return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer())
    },
    close: async () => undefined,
  }
}

/** Numbers of a damaged file may be negative, infinite or NaN; a caller's are integers. */
const isPlace = (value: unknown) => typeof value === 'number' && (Number.isInteger(value) || !Number.isFinite(value))
const RANGE = { offset: integerFrom(0), length: integerFrom(0) }

/** Throws `ERR_CHECKPOINT_CORRUPT` when [offset, offset + length) is not within a file of `size` bytes. */
export function checkRange(name: string, size: number, offset: number, length: number): void {
  if (!isPlace(offset) || !isPlace(length)) checkArguments('read bytes', { offset, length }, RANGE)
  if (offset >= 0 && length >= 0 && offset + length <= size) return
  throw corrupt(`${length} bytes at offset ${offset}`, `the file has ${size}`, { path: name })
}
