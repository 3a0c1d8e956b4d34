import type { FloatArray, NamedTensors, Tensor } from '@cudnn-rnn/canonical'
import { madeIn } from '@cudnn-rnn/canonical/rules'
import type { StoredTensor } from '../stored_tensor.js'

/** Tensors of one module: those that share a prefix, by their own names. */
export interface StoredGroup {
  readonly prefix: string
  readonly tensors: Map<string, StoredTensor>
}

/**
 * Groups tensors by prefix.
 *
 * @param split splits a name into the prefix and the tensor's own name; undefined for other tensors.
 */
export function groupTensors(
  tensors: readonly StoredTensor[],
  split: (name: string) => readonly [prefix: string, own: string] | undefined,
): StoredGroup[] {
  const groups = new Map<string, StoredGroup>()
  for (const tensor of tensors) {
    const parts = split(tensor.name)
    if (parts === undefined) continue
    const [prefix, own] = parts
    madeIn(groups, prefix, () => ({ prefix, tensors: new Map() })).tensors.set(own, tensor)
  }
  return [...groups.values()]
}

type Group = ReadonlyMap<string, StoredTensor>

/** Elements of every tensor of `groups`, one record for each: all float64 if every one is, else all float32. */
export async function readGroups<Groups extends readonly Group[]>(
  groups: readonly [...Groups],
): Promise<{ [Index in keyof Groups]: NamedTensors }> {
  return (await readEach(groups)) as { [Index in keyof Groups]: NamedTensors }
}

async function readEach(groups: readonly Group[]): Promise<NamedTensors[]> {
  const read: Record<string, Tensor<FloatArray>>[] = []
  for (const group of groups) {
    const record: Record<string, Tensor<FloatArray>> = {}
    for (const [own, { shape, read: elements }] of group) record[own] = { data: await elements(), shape }
    read.push(record)
  }
  const isDouble = read.every((record) => Object.values(record).every(({ data }) => data instanceof Float64Array))
  if (isDouble) return read
  return read.map((record) => {
    const single = Object.entries(record).map(([own, { data, shape }]) => {
      return [own, { data: data instanceof Float64Array ? Float32Array.from(data) : data, shape }] as const
    })
    return Object.fromEntries(single)
  })
}

/** Whether a stored tensor is a matrix. */
export function isMatrix(shape: readonly number[] | undefined): shape is readonly [rows: number, columns: number] {
  return shape?.length === 2
}
