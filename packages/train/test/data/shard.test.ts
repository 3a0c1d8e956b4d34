import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { Dataset, type Position } from '../../src/index.js'

const numbers = Array.from({ length: 13 }, (_, k) => k)
const whole = Dataset.fromArray(numbers).shuffle({ bufferSize: 5, seed: 1 }).batch(4)
const all = async <T>(data: Dataset<T>) => {
  const values: T[] = []
  for await (const value of data) values.push(value)
  return values
}

it.each([1, 2, 3, 5])(
  'Dataset.shard gives every element to one of %d ranks, and all the same number of batches',
  async (size) => {
    const batches = await all(whole)
    const shares = await Promise.all(Array.from({ length: size }, (_, rank) => all(whole.shard({ rank, size }))))
    expect(batches.map((_, step) => shares.flatMap((share) => share[step]))).toEqual(batches)
    for (const share of shares) expect(share).toHaveLength(batches.length)
  },
)

it('Dataset.shard leaves empty shares as they are when they are mapped', async () => {
  const sums = whole.shard({ rank: 0, size: 5 }).map((batch) => batch.reduce((sum, each) => sum + each))
  expect((await all(sums)).at(-1)).toEqual([])
})

it('Dataset.shard continues from a position over another number of ranks', async () => {
  const first = whole.shard({ rank: 1, size: 4 }).prefetch(2).iterate()
  await first.next()
  await first.next()
  const saved = JSON.parse(JSON.stringify(first.position)) as Position
  const rest = async (rank: number, size: number) => {
    const values: (readonly number[])[] = []
    for await (const value of whole.shard({ rank, size }).iterate(saved)) values.push(value)
    return values
  }
  const batches = (await all(whole)).slice(2)
  const [left, right] = [await rest(0, 2), await rest(1, 2)]
  expect(left.map((share, step) => [...share, ...right[step]])).toEqual(batches)
})

it('Dataset.shard splits batches that are not arrays by the given function', async () => {
  const batch = { rows: [1, 2, 3] }
  const halves = Dataset.fromArray([batch]).shard({ rank: 1, size: 3 }, ({ rows }, { rank }) => ({
    rows: [rows[rank]],
  }))
  expect(await all(halves)).toEqual([{ rows: [2] }])
})

it.each([
  ['no rank', { size: 2 }, 'ERR_INVALID_ARGUMENT'],
  ['a rank beyond the size', { rank: 2, size: 2 }, 'ERR_INVALID_OPTION'],
  ['no world', undefined, 'ERR_INVALID_ARGUMENT'],
])('Dataset.shard refuses %s', (_, world, code) => {
  expect(() => whole.shard(world as never)).toThrow(coded(code))
})

it('Dataset.shard refuses batches that it cannot split', async () => {
  const windows = Dataset.fromArray([{ rows: 3 }]).shard({ rank: 0, size: 2 })
  await expect(all(windows)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
})
