import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Random } from '@cudnn-rnn/fuzzing'
import { decodeBundleEntry, decodeBundleHeader } from '../src/bundle/bundle_messages.js'
import { shardPath } from '../src/bundle/bundle_reader.js'
import { DTYPES } from '../src/bundle/dtype.js'
import type { CheckpointTensor } from '../src/bundle/tensor.js'
import { CheckpointError } from '../src/errors.js'
import { openCheckpointFrom } from '../src/open_checkpoint.js'
import { memorySource } from '../src/store/byte_source.js'
import { readTable, type TableEntry } from '../src/table/table_reader.js'
import { mutateBytes } from './message_mutations.js'
import { mutateTable } from './table_mutations.js'

/** The fixtures that are damaged, by kind of file and of tensor. */
export const SUBJECTS = ['plain', 'dtypes', 'strings', 'partitioned', 'sharded', 'v1', 'v1_snappy'] as const

// This module also runs bundled, as one file beside its sources.
const FIXTURES = fileURLToPath(new URL('../../../fixtures/checkpoints', import.meta.url))

/** A tensor read may take this many times the bytes of all files: snappy's ratio, and a byte of a V1 file may be 8. */
const LARGEST_GROWTH = 64 * 8

type Files = ReadonlyMap<string, Uint8Array>

/** A checkpoint of real TensorFlow that is to be damaged. */
export interface Subject {
  readonly files: Files
  /** The file with the table: the index of V2, the whole of V1. */
  readonly tableName: string
  readonly entries: readonly TableEntry[]
  /** Every tensor of the whole checkpoint, as text. */
  readonly tensors: ReadonlyMap<string, string>
  /** All that V2's data files hold under one checksum, whichever name and dtype an index gives it. */
  readonly elements: ReadonlySet<string>
}

/** Counts of the outcomes of a run. */
export interface Counts {
  mutations: number
  /** By the code of the error. */
  readonly refused: Record<string, number>
  /** Every tensor as before: the damage lay where nothing was read. */
  unchanged: number
  /** A checkpoint of other content, sound in itself. */
  sound: number
  tensorsRead: number
  slowestMilliseconds: number
}

export async function loadSubject(folder: (typeof SUBJECTS)[number]): Promise<Subject> {
  const names = (await readdir(join(FIXTURES, folder))).filter((name) => name.startsWith('model'))
  const load = async (name: string) => [name, new Uint8Array(await readFile(join(FIXTURES, folder, name)))] as const
  const files = new Map(await Promise.all(names.map(load)))
  const tableName = files.has('model.index') ? 'model.index' : 'model'
  const entries = await readTable(memorySource(tableName, files.get(tableName)!))
  const tensors = new Map<string, string>()
  for (const [name, tensor] of await readAll(files)) tensors.set(name, textOf(tensor))
  const elements = new Set([...tensors.values()].map(elementsOf))
  // A string tensor read as numbers has the values of its bytes: their checksum is the same for some.
  for (const bytes of tableName.endsWith('.index') ? storedBytes(entries, files) : []) elements.add(hexOf(bytes))
  return { files, tableName, entries, tensors, elements }
}

/**
 * Damages a checkpoint in `mutations` ways and reads all of it each time.
 *
 * @throws Error with seed and number of the mutation: when anything but a `CheckpointError` is thrown, or a tensor is read
 *   that cannot be right
 */
export async function fuzzMutations(subject: Subject, mutations: number, seed: number): Promise<Counts> {
  const counts: Counts = { mutations, refused: {}, unchanged: 0, sound: 0, tensorsRead: 0, slowestMilliseconds: 0 }
  for (let mutation = 0; mutation < mutations; mutation++) {
    // Each mutation has its own stream, so that one can be repeated alone.
    const random = new Random(seed, mutation)
    const structured = random.chance(0.8)
    const files = structured ? damagedTable(subject, random) : damagedBytes(subject, random)
    const began = performance.now()
    try {
      const tensors = await readAll(files)
      counts.tensorsRead += tensors.size
      if (check(subject, files, tensors, structured)) counts.unchanged++
      else counts.sound++
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw new Error(`seed ${seed}, mutation ${mutation}`, { cause: error })
      counts.refused[error.code] = (counts.refused[error.code] ?? 0) + 1
    }
    counts.slowestMilliseconds = Math.max(counts.slowestMilliseconds, performance.now() - began)
  }
  return counts
}

function damagedTable({ files, tableName, entries }: Subject, random: Random): Files {
  return new Map(files).set(tableName, mutateTable(entries, random))
}

function damagedBytes({ files }: Subject, random: Random): Files {
  const [name, bytes] = random.pick([...files])
  return new Map(files).set(name, mutateBytes(bytes, random))
}

async function readAll(files: Files): Promise<Map<string, CheckpointTensor>> {
  const reader = await openCheckpointFrom('model', async (path) => {
    const bytes = files.get(path)
    return bytes && memorySource(path, bytes)
  })
  const tensors = new Map<string, CheckpointTensor>()
  for (const name of reader.names()) tensors.set(name, await reader.read(name))
  await reader.close()
  return tensors
}

/** Whether every tensor is unchanged. Throws for a tensor that differs from its files. */
function check(subject: Subject, files: Files, tensors: Map<string, CheckpointTensor>, structured: boolean): boolean {
  const size = [...files.values()].reduce((sum, { length }) => sum + length, 0)
  let same = tensors.size === subject.tensors.size
  for (const [name, tensor] of tensors) {
    const { data, shape, dtype } = tensor
    const { array, perElement } = DTYPES[dtype]
    const count = shape.reduce((product, length) => product * length, perElement)
    if (data.length !== count) throw new Error(`${name}: ${data.length} values for shape [${shape}] of ${dtype}`)
    if (array === undefined ? !data.every((value) => value instanceof Uint8Array) : !(data instanceof array))
      throw new Error(`${name}: the values are not ${dtype}`)
    const bytes = ArrayBuffer.isView(data) ? data.byteLength : data.length
    if (bytes > size * LARGEST_GROWTH) throw new Error(`${name}: ${bytes} bytes out of files of ${size}`)
    const text = textOf(tensor)
    if (text === subject.tensors.get(name)) continue
    same = false
    if (count > 0 && elementsAreFixed(subject) && !subject.elements.has(elementsOf(text)))
      throw new Error(`${name}: elements that no tensor has`)
  }
  if (!structured && !same) throw new Error('a checkpoint with wrong checksums reads otherwise')
  return same
}

/** Whether elements are under their own checksums: not in V1's table, and slices may be put together otherwise. */
function elementsAreFixed({ tableName, entries }: Subject): boolean {
  return tableName.endsWith('.index') && !entries.some(({ key }) => key[0] === 0)
}

/** The bytes in the data files of each entry of an index. */
function storedBytes([header, ...rest]: readonly TableEntry[], files: Files): Uint8Array[] {
  const { numShards } = decodeBundleHeader(header!.value)
  return rest.map(({ value }) => {
    const { shard, offset, size } = decodeBundleEntry(value)
    return files.get(shardPath('model', shard, numShards))!.subarray(offset, offset + size)
  })
}

function textOf({ data, shape, dtype }: CheckpointTensor): string {
  const parts: readonly ArrayBufferView[] = ArrayBuffer.isView(data) ? [data] : data
  return `${dtype} [${shape}] ${parts.map(hexOf).join(' ')}`
}

function hexOf({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength).toString('hex')
}

function elementsOf(text: string): string {
  return text.slice(text.indexOf('] ') + 2)
}
