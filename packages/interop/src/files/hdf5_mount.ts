import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { unsupported, WeightFileError } from '../errors.js'
import { Hdf5Guard } from './hdf5_guard.js'

/** A file for the HDF5 library: its path, or its bytes and its name in messages. */
export type Hdf5Input = { readonly path: string; readonly bytes?: Uint8Array }

/** The part of Emscripten's file system that is used here (its own types leave `createFile` out). */
interface FileSystem {
  readonly ErrnoError: new (code: number) => Error
  createFile(parent: string, name: string, properties: object, canRead: boolean, canWrite: boolean): FileNode
  unlink(path: string): void
}

interface FileNode {
  readonly usedBytes: number
  stream_ops: { read(stream: unknown, buffer: Uint8Array, offset: number, length: number, position: number): number }
}

/** Emscripten's number of the error of a device. */
const EIO = 29

/** Largest size of a file in memory; a file that is read by its path needs none. */
const LARGEST_IN_MEMORY = 2 ** 31

/** Files open at the same time have their own names. */
let filesMounted = 0

/**
 * Makes a file visible to the HDF5 library, whose file system is its own: links in a file lead nowhere. A file given by its
 * path is read where the library requests parts of it, as Emscripten's `createLazyFile` does with files of servers.
 *
 * @throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED` for bytes beyond 2 GiB, `ERR_WEIGHTS_IO`
 */
export function mountHdf5(
  fileSystem: unknown,
  { path, bytes }: Hdf5Input,
): { readonly name: string; readonly size: number; unmount(): void } {
  const files = fileSystem as FileSystem
  const content = bytes === undefined ? fileContent(path) : memoryContent(path, bytes)
  const { size } = content
  const own = `weights_${filesMounted++}.h5`
  const node = files.createFile('/', own, {}, true, false)
  Object.defineProperty(node, 'usedBytes', { value: size })
  const guard = new Hdf5Guard()
  node.stream_ops = {
    ...node.stream_ops,
    read: (_, buffer, offset, length, position) => {
      const wanted = Math.min(length, size - position)
      if (wanted <= 0) return 0
      const read = content.read(buffer, offset, wanted, position)
      if (guard.allows(position, buffer.subarray(offset, offset + read))) return read
      throw new files.ErrnoError(EIO)
    },
  }
  const name = `/${own}`
  const unmount = () => {
    files.unlink(name)
    content.close()
  }
  return { name, size, unmount }
}

/** The bytes behind a mounted file. */
interface Content {
  readonly size: number
  read(buffer: Uint8Array, offset: number, length: number, position: number): number
  close(): void
}

function memoryContent(path: string, bytes: Uint8Array): Content {
  const { length: size } = bytes
  if (size > LARGEST_IN_MEMORY) {
    throw unsupported(
      path,
      `HDF5 in memory must be of at most ${LARGEST_IN_MEMORY} bytes: give the path of an .h5 file`,
    )
  }
  const read: Content['read'] = (buffer, offset, length, position) => {
    buffer.set(bytes.subarray(position, position + length), offset)
    return length
  }
  return { size, read, close: () => undefined }
}

function fileContent(path: string): Content {
  const descriptor = opened(path)
  const { size } = fstatSync(descriptor)
  return {
    size,
    read: (buffer, offset, length, position) => readSync(descriptor, buffer, offset, length, position),
    close: () => closeSync(descriptor),
  }
}

function opened(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  } catch (cause) {
    throw new WeightFileError('ERR_WEIGHTS_IO', `Cannot read weight file (${(cause as Error).message})`, {
      path,
      cause,
    })
  }
}
