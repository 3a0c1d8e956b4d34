import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { BlobWriter, Uint8ArrayReader, ZipWriter } from '@zip.js/zip.js'
import type { WeightFile } from '../weight_file.js'
import { decodeNpy, encodeNpy } from './npy.js'
import { TensorList } from './tensor_list.js'
import type { ArchiveEntry } from './zip_archive.js'

const SUFFIX = '.npy'

/** The longest header of an array of numbers, version 1.0, with its prefix. */
const LONGEST_HEADER = 10 + 0xffff

/** Opens the arrays of a NumPy `.npz` archive: of each only the header is read until its elements are requested. */
export async function openNpz(
  path: string,
  entries: ReadonlyMap<string, ArchiveEntry>,
  close: () => Promise<void>,
): Promise<WeightFile> {
  const heldBytes = [...entries.values()].reduce((sum, { size }) => sum + size, 0)
  const list = new TensorList(path, heldBytes)
  for (const entry of entries.values()) {
    if (!entry.name.endsWith(SUFFIX)) continue
    const name = entry.name.slice(0, -SUFFIX.length)
    const { shape, dtype } = decodeNpy(path, name, await entry.readStart(LONGEST_HEADER))
    list.add({ name, shape, dtype, read: async () => decodeNpy(path, name, await entry.read()).elements() })
  }
  return { format: 'npz', path, heldBytes, tensors: list.tensors, close }
}

/** A NumPy `.npz` archive of float tensors, stored without compression as `numpy.savez` does. */
export async function encodeNpz(tensors: Readonly<Record<string, Tensor<FloatArray>>>): Promise<Uint8Array> {
  const writer = new ZipWriter(new BlobWriter(), { level: 0, useWebWorkers: false, extendedTimestamp: false })
  for (const [name, tensor] of Object.entries(tensors)) {
    await writer.add(`${name}${SUFFIX}`, new Uint8ArrayReader(encodeNpy(tensor)), { lastModDate: ZIP_EPOCH })
  }
  return new Uint8Array(await (await writer.close()).arrayBuffer())
}

/** Equal tensors give equal files. */
const ZIP_EPOCH = new Date(1980, 0, 1)
