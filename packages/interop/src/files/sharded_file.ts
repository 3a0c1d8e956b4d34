import { describeValue } from '@cudnn-rnn/canonical'
import { type Json, jsonRecord, madeIn } from '@cudnn-rnn/canonical/rules'
import type { ByteSource } from '@cudnn-rnn/checkpoint'
import { corrupt, unsupported } from '../errors.js'
import type { WeightFile, WeightFormat } from '../weight_file.js'
import { parseBoundedJson } from './bounded_json.js'
import { closingOnError } from './closing_on_error.js'
import { ExternalFiles } from './external_files.js'
import { TensorList } from './tensor_list.js'

const INDEX_LIMITS = { depth: 8, values: 2 ** 20 }
/** Models of a trillion parameters have some hundred. */
const MOST_SHARDS = 1024
/** Formats whose files are tensors and names alone, which can be joined. */
const JOINED: readonly WeightFormat[] = ['safetensors', 'pytorch', 'flax', 'keras-h5']

/**
 * Opens the shards of a model as one file: its index is JSON whose `weight_map` has the file of each tensor, or in Keras the
 * files of each layer's variables. Sources: huggingface_hub/serialization/_base.py; keras/src/saving/saving_lib.py.
 *
 * @throws WeightFileError `ERR_WEIGHTS_CORRUPT` if the index and its shards do not have the same names; `ERR_WEIGHTS_NOT_FOUND`
 *   without one of them; `ERR_WEIGHTS_UNSUPPORTED` for an index that was given as bytes
 */
export async function openShards(
  source: ByteSource,
  isPath: boolean,
  openShard: (shard: ByteSource) => Promise<WeightFile>,
): Promise<WeightFile> {
  const { name: path, size } = source
  const index = jsonRecord(parseBoundedJson(path, 'it', await source.read(0, size), INDEX_LIMITS))
  const namesOf = shardsIn(path, jsonRecord(index?.['weight_map']) ?? {})
  const external = new ExternalFiles(path, isPath)
  const shards: WeightFile[] = []
  const close = async () => {
    await Promise.all(shards.map((shard) => shard.close()))
    await external.close()
  }
  return closingOnError({ close }, async () => {
    for (const [location, names] of namesOf) {
      const shard = await openShard(await external.open(location))
      shards.push(shard)
      checkNames(path, location, shard, names)
    }
    return { ...joined(path, size, shards), close: () => close().then(() => source.close()) }
  })
}

/** The names that an index has of each shard. */
function shardsIn(path: string, map: Json): ReadonlyMap<string, Set<string>> {
  const shards = new Map<string, Set<string>>()
  for (const [name, places] of Object.entries(map)) {
    for (const place of [places].flat()) {
      if (typeof place !== 'string') throw corrupt(path, `the file of ${name} must be a name: ${describeValue(place)}`)
      madeIn(shards, place, () => new Set()).add(name)
    }
  }
  if (shards.size === 0) throw corrupt(path, 'its weight_map has no tensors')
  if (shards.size > MOST_SHARDS) throw unsupported(path, `a model must have at most ${MOST_SHARDS} shards`)
  return shards
}

/** Throws unless a shard has the tensors of the index, or those below its names, and no others. */
function checkNames(path: string, location: string, { tensors }: WeightFile, names: ReadonlySet<string>): void {
  const missing = new Set(names)
  for (const { name } of tensors) {
    const listed = [name, `/${name.replace(/\/?[^/]*$/, '')}`].find((each) => names.has(each))
    if (listed === undefined) throw corrupt(path, `it must list each tensor of ${location}: it does not list ${name}`)
    missing.delete(listed)
  }
  for (const name of missing) throw corrupt(path, `${location} must have each tensor that it lists: it has no ${name}`)
}

function joined(path: string, size: number, shards: readonly WeightFile[]): Omit<WeightFile, 'close'> {
  const heldBytes = shards.reduce((sum, shard) => sum + (shard.heldBytes ?? 0), size)
  const formats = [...new Set(shards.map(({ format }) => format))]
  const [format, ...others] = formats
  if (format === undefined || others.length > 0 || !JOINED.includes(format)) {
    throw unsupported(path, `shards must be of one format of ${JOINED.join(', ')}: they are ${formats.join(', ')}`)
  }
  const list = new TensorList(path, heldBytes)
  const seen = new Set<string>()
  for (const tensor of shards.flatMap(({ tensors }) => tensors)) {
    if (seen.has(tensor.name)) throw corrupt(path, `${tensor.name} must be in one shard`)
    seen.add(tensor.name)
    list.add(tensor)
  }
  const kerasNames = new Map(shards.flatMap(({ kerasNames = new Map() }) => [...kerasNames]))
  const unread = shards.flatMap((shard) => shard.unread ?? [])
  return { format, path, heldBytes, tensors: list.tensors, unread, ...(kerasNames.size > 0 && { kerasNames }) }
}
