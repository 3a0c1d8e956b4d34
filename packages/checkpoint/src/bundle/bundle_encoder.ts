import { checkArguments, kind, OBJECT, TEXT } from '@cudnn-rnn/canonical/rules'
import { maskCrc } from '@cudnn-rnn/checkpoint/files'
import { encodeBundleEntry } from './bundle_messages.js'
import { DTYPES } from './dtype.js'
import { CheckpointError } from '../errors.js'
import { compareBytes, type TableEntry } from '../table/table_reader.js'
import { checkWritable, type WritableTensor } from './tensor.js'
import { encodeElements } from './tensor_bytes.js'

/** A tensor and its name, as `writeCheckpoint` takes them. */
export type NamedTensor = readonly [name: string, tensor: WritableTensor]

const NAMED_TENSOR = {
  entry: kind(
    'a pair [name, tensor]',
    (value): value is readonly [unknown, unknown] => Array.isArray(value) && value.length === 2,
  ),
}

/** Encodes the tensors of a checkpoint with one data file. */
export class BundleEncoder {
  readonly #entries = new Map<string, TableEntry>()

  /** The bytes of the data file, one tensor after the other. */
  async *data(tensors: Iterable<NamedTensor> | AsyncIterable<NamedTensor>): AsyncGenerator<Uint8Array> {
    const encoder = new TextEncoder()
    let offset = 0
    for await (const entry of tensors) {
      checkArguments('write checkpoint', { entry }, NAMED_TENSOR)
      const [name, tensor] = entry
      checkArguments('write checkpoint', { name, tensor }, { name: TEXT, tensor: OBJECT })
      const dtype = checkWritable(name, tensor)
      if (name === '' || name.startsWith('\0') || this.#entries.has(name)) {
        const rule = this.#entries.has(name) ? 'there is one of this name already' : 'its name is not allowed'
        throw new CheckpointError('ERR_TENSOR_INVALID', `Cannot write tensor ${JSON.stringify(name)} as ${rule}`, {
          tensorName: name,
        })
      }
      const { bytes, checksum } = encodeElements(dtype, tensor.data)
      yield bytes
      const place = { dtypeId: DTYPES[dtype].id, shape: tensor.shape, shard: 0, offset, size: bytes.length }
      const value = encodeBundleEntry({ ...place, crc: maskCrc(checksum) })
      this.#entries.set(name, { key: encoder.encode(name), value })
      offset += bytes.length
    }
  }

  /** The entries of the index once the data are written, ascending by name. */
  entries(): TableEntry[] {
    return [...this.#entries.values()].sort((a, b) => compareBytes(a.key, b.key))
  }
}
