import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { unsupported, WeightFileError } from '../errors.js'

/** A file for the HDF5 library: its path, or its bytes and what messages call it. */
export type Hdf5Input = { readonly path: string; readonly bytes?: Uint8Array }

/** The part of Emscripten's file system that is used here (its own types leave `createFile` out). */
interface FileSystem {
  createFile(parent: string, name: string, properties: object, canRead: boolean, canWrite: boolean): FileNode
  writeFile(path: string, bytes: Uint8Array, options: { readonly canOwn: boolean }): void
  unlink(path: string): void
}

interface FileNode {
  readonly usedBytes: number
  stream_ops: { read(stream: unknown, buffer: Uint8Array, offset: number, length: number, position: number): number }
}

/** What one file may take in memory; a file that is read by its path takes none. */
const LARGEST_IN_MEMORY = 2 ** 31

/** Files open at the same time have names of their own. */
let filesMounted = 0

/**
 * Makes a file visible to the HDF5 library, whose file system is its own: links in a file lead nowhere. A file given by its
 * path is read as the library asks for parts of it, as Emscripten's `createLazyFile` does with files of servers.
 *
 * @throws WeightFileError `ERR_WEIGHTS_UNSUPPORTED` for bytes beyond 2 GiB, `ERR_WEIGHTS_IO`
 */
export function mountHdf5(
  fileSystem: unknown,
  { path, bytes }: Hdf5Input,
): { readonly name: string; readonly size: number; unmount(): void } {
  const files = fileSystem as FileSystem
  const own = `weights_${filesMounted++}.h5`
  const name = `/${own}`
  if (bytes !== undefined) {
    if (bytes.length > LARGEST_IN_MEMORY) {
      throw unsupported(
        path,
        `HDF5 in memory must be of at most ${LARGEST_IN_MEMORY} bytes: give the path of an .h5 file`,
      )
    }
    files.writeFile(name, bytes, { canOwn: true })
    return { name, size: bytes.length, unmount: () => files.unlink(name) }
  }
  const descriptor = opened(path)
  const { size } = fstatSync(descriptor)
  const node = files.createFile('/', own, {}, true, false)
  Object.defineProperty(node, 'usedBytes', { value: size })
  node.stream_ops = {
    ...node.stream_ops,
    read: (_, buffer, offset, length, position) => {
      const wanted = Math.min(length, size - position)
      return wanted > 0 ? readSync(descriptor, buffer, offset, wanted, position) : 0
    },
  }
  const unmount = () => {
    files.unlink(name)
    closeSync(descriptor)
  }
  return { name, size, unmount }
}

function opened(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    throw new WeightFileError('ERR_WEIGHTS_IO', 'Cannot read weight file as it cannot be opened', { path, cause })
  }
}
