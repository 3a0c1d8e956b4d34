import { entryOf } from '@cudnn-rnn/canonical/rules'
import { corrupt, unsupported } from '../errors.js'
import type { WeightFile } from '../weight_file.js'
import { readPickle } from './pickle_reader.js'
import { torchWeights } from './torch_contents.js'
import type { ZipArchive } from './zip_archive.js'

/**
 * Opens the format of `torch.save` since PyTorch 1.6: a zip of `data.pkl`, `byteorder` and one file `data/<key>` for each
 * storage. The pickle is read by an allow-list and never executed; storages are read when a tensor is.
 */
export async function openTorchZip({ path, entries, size: heldBytes, close }: ZipArchive): Promise<WeightFile> {
  const pickle = [...entries.keys()].find((name) => name.endsWith('/data.pkl'))
  if (pickle === undefined) throw corrupt(path, 'it has no data.pkl')
  const folder = pickle.slice(0, -'data.pkl'.length)
  const order = await entries.get(`${folder}byteorder`)?.read()
  if (order !== undefined && new TextDecoder().decode(order).trim() !== 'little') {
    throw unsupported(path, 'its elements are not little-endian')
  }
  const { value } = readPickle(path, await entryOf(entries, pickle).read(), heldBytes)
  return torchWeights(path, heldBytes, value, (key) => entries.get(`${folder}data/${key}`), close)
}
