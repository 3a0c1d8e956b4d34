import type { StoredTensor } from '../stored_tensor.js'
import { closingOnError } from './closing_on_error.js'
import type { Hdf5Input } from './hdf5_mount.js'
import { Hdf5Session } from './hdf5_session.js'
import { Hdf5Thread } from './hdf5_thread.js'

export interface Hdf5File {
  readonly tensors: readonly StoredTensor[]
  /** Bytes of elements that the file can hold. */
  readonly heldBytes: number
  /** A text attribute of the root. Rejects with WeightFileError `ERR_WEIGHTS_CORRUPT`. */
  text(attribute: string): Promise<string | undefined>
  /**
   * For each group the texts of an attribute, in parts if it is long; none if the group or the attribute is missing.
   * Rejects with WeightFileError `ERR_WEIGHTS_CORRUPT`.
   */
  texts(groups: readonly string[], attribute: string): Promise<readonly (readonly string[])[]>
  close(): Promise<void>
}

/** A session of one file, in a worker thread or in this thread. */
type Hdf5Service = Pick<Hdf5Thread, 'call' | 'close'>

/** A request takes bounded time, so it names so many groups. */
const GROUPS_PER_REQUEST = 256

/**
 * Opens an HDF5 file with the HDF5 library itself, compiled to WebAssembly, in a separate thread if there are threads.
 *
 * @param size of the file, in bytes.
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT`, also if the library does not finish; `ERR_WEIGHTS_UNSUPPORTED` for bytes
 *   beyond 2 GiB; Error `ERR_PACKAGE_MISSING`
 */
export async function openHdf5(input: Hdf5Input, size: number): Promise<Hdf5File> {
  const service = (await Hdf5Thread.open(input, size)) ?? (await serviceHere(input))
  return closingOnError(service, async () => {
    const { datasets, heldBytes } = await service.call('list')
    const tensors = datasets.map((dataset, index): StoredTensor => {
      return { ...dataset, read: () => service.call('read', index, dataset) }
    })
    const texts: Hdf5File['texts'] = async (groups, attribute) => {
      const found: (readonly string[])[] = []
      for (let start = 0; start < groups.length; start += GROUPS_PER_REQUEST) {
        for (const list of await service.call('texts', groups.slice(start, start + GROUPS_PER_REQUEST), attribute)) {
          found.push(list)
        }
      }
      return found
    }
    return {
      tensors,
      heldBytes,
      text: (attribute) => service.call('text', attribute),
      texts,
      close: () => service.close(),
    }
  })
}

async function serviceHere(input: Hdf5Input): Promise<Hdf5Service> {
  const session = await Hdf5Session.open(input)
  return {
    call: async (call, ...parameters) => (session[call] as (...all: unknown[]) => never)(...parameters),
    close: async () => session.close(),
  }
}
