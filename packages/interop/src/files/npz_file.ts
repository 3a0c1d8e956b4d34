import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { BlobWriter, Uint8ArrayReader, ZipWriter } from '@zip.js/zip.js'
import { unsupported } from '../errors.js'
import type { UnreadValue, WeightFile } from '../weight_file.js'
import { decodeNpy, encodeNpy } from './npy.js'
import { TensorList } from './tensor_list.js'
import type { ZipArchive } from './zip_archive.js'

const SUFFIX = '.npy'

/** The longest header of an array of numbers, version 1.0, with its prefix. */
const LONGEST_HEADER = 10 + 0xffff

/** Opens the arrays of a NumPy `.npz` archive: of each only the header is read until its elements are requested. */
export async function openNpz({ path, entries, size: heldBytes, close }: ZipArchive): Promise<WeightFile> {
  const list = new TensorList(path, heldBytes)
  const unread: UnreadValue[] = []
  for (const entry of entries.values()) {
    if (!entry.name.endsWith(SUFFIX)) continue
    const name = entry.name.slice(0, -SUFFIX.length)
    const { shape, dtype } = decodeNpy(path, name, await entry.readStart(LONGEST_HEADER))
    if (dtype === 'object') unread.push({ name, what: 'Python objects' })
    list.add({ name, shape, dtype, read: async () => decodeNpy(path, name, await entry.read()).elements() })
  }
  const [objects] = unread
  if (objects !== undefined && unread.length === list.tensors.length) {
    throw unsupported(
      path,
      `its arrays must be of numbers: ${objects.name} holds Python objects, which are not loaded. numpy.savez(file, **numpy.load(old, allow_pickle=True)['${objects.name}'].item()) writes the arrays of a dict`,
    )
  }
  return { format: 'npz', path, heldBytes, tensors: list.tensors, unread, close }
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
