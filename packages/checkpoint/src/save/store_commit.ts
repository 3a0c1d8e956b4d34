import { checkArguments, TEXT, where } from '@cudnn-rnn/canonical/rules'
import { BundleEncoder, type NamedTensor } from '../bundle/bundle_encoder.js'
import { encodeBundleHeader } from '../bundle/bundle_messages.js'
import { shardPath } from '../bundle/bundle_reader.js'
import { checkpointFiles } from './checkpoint_files.js'
import { formatCheckpointState } from './checkpoint_state.js'
import type { FileStore } from '../store/file_store.js'
import { presentState, type Retention, rotate } from './rotation.js'
import { freeNumShards } from './save_commit.js'
import { STATE_FILE } from './state_file.js'
import { encodeTable } from '../table/table_writer.js'

const NAME = { prefix: where(TEXT, 'a name of a file, without /', (name: string) => /^[^/\0]+$/.test(name)) }

/** Held while a checkpoint is written, and its predecessors are removed. */
const LOCK = 'save'

/**
 * Writes a checkpoint into a store, as {@link commitSave} does into a directory of the system.
 *
 * The commit is the writing of the index, which a store does whole: before it, the data file has a name that the present
 * index does not use, and after it nothing needs the old one. A program that ends in between leaves data files that the
 * next save of this checkpoint removes.
 */
export async function saveInStore(
  store: FileStore,
  prefix: string,
  tensors: Iterable<NamedTensor> | AsyncIterable<NamedTensor>,
  retention: Retention | undefined,
): Promise<void> {
  checkArguments('write checkpoint', { prefix }, NAME)
  const lock = await store.lock(LOCK, true)
  try {
    const names = await store.names()
    const isUsed = names.includes(`${prefix}.index`)
    const numShards = isUsed ? freeNumShards(names, prefix) : 1
    const data = shardPath(prefix, 0, numShards)
    const index = `${prefix}.index`
    try {
      const encoder = new BundleEncoder()
      await store.write(data, encoder.data(tensors))
      const header = { key: new Uint8Array(0), value: encodeBundleHeader(numShards) }
      const before = isUsed ? await bytesOf(store, index) : undefined
      await store.write(index, [encodeTable([header, ...encoder.entries()])])
      if (retention !== undefined) {
        await note(store, prefix, retention).catch(async (error: unknown) => {
          if (before === undefined) await store.remove(index)
          else await store.write(index, [before])
          throw error
        })
      }
    } catch (error) {
      await store.remove(data).catch(() => undefined)
      throw error
    }
    // The checkpoint is complete; files that cannot be removed now are removed by a later save.
    for (const file of checkpointFiles(names, prefix)) {
      if (file.numShards !== undefined && file.name !== data) await store.remove(file.name).catch(() => undefined)
    }
  } finally {
    await lock.release()
  }
}

async function bytesOf(store: FileStore, name: string): Promise<Uint8Array | undefined> {
  const source = await store.open(name)
  if (source === undefined) return undefined
  try {
    return await source.read(0, source.size)
  } finally {
    await source.close()
  }
}

/** Makes a checkpoint the newest of the state file, and removes those beyond `maxToKeep`. */
async function note(store: FileStore, prefix: string, retention: Retention): Promise<void> {
  const names = await store.names()
  const present = await presentState(store, prefix, names, async () => Date.now() / 1000)
  const { state, evicted } = rotate(present, prefix, (path) => path === prefix, retention)
  await store.write(STATE_FILE, [new TextEncoder().encode(formatCheckpointState(state))])
  for (const { path } of evicted) {
    // The index first: without it the rest is none.
    for (const name of [`${path}.index`, ...checkpointFiles(names, path).map((file) => file.name)]) {
      if (names.includes(name)) await store.remove(name).catch(() => undefined)
    }
  }
}
