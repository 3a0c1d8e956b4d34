import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { countedSource } from '../../src/data/source.js'
import { Dataset } from '../../src/index.js'

/** Counts the passes that are open, and the elements read. */
function watched() {
  const counts = { open: 0, read: 0 }
  const dataset = Dataset.from(function* () {
    counts.open++
    try {
      for (let k = 0; k < 6; k++) {
        counts.read++
        yield k
      }
    } finally {
      counts.open--
    }
  })
  return { counts, dataset }
}

describe('countedSource', () => {
  it('reads nothing before the first element is requested', async () => {
    const { counts, dataset } = watched()
    const iterator = dataset.iterate()
    expect(counts).toEqual({ open: 0, read: 0 })
    expect(iterator.position).toBeNull()
    await iterator.next()
    expect(counts).toEqual({ open: 1, read: 1 })
    await iterator.return()
  })

  it('skips the elements before a position', async () => {
    const cursor = countedSource(() => ['a', 'b', 'c']).open(2, 0)
    expect(await cursor.next()).toEqual({ value: 'c', position: 3 })
    expect(await cursor.next()).toBeUndefined()
  })

  it('ends where a position is beyond the last element', async () => {
    expect(
      await countedSource(() => ['a'])
        .open(5, 0)
        .next(),
    ).toBeUndefined()
  })

  it.each<[string, unknown]>([
    ['has no next()', {}],
    ['gives no result', { next: async () => null }],
    ['gives an element in place of a result', { next: async () => 1 }],
  ])('refuses an iterator that %s', async (_, iterator) => {
    const source = countedSource(() => ({ [Symbol.asyncIterator]: () => iterator }) as AsyncIterable<number>)
    const first = async () => await source.open(undefined, 0).next()
    await expect(first()).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
  })

  it.each<[string, (dataset: Dataset<number>) => Dataset<unknown>]>([
    ['the source alone', (dataset) => dataset],
    ['map', (dataset) => dataset.map((k) => k, { concurrency: 2 })],
    ['batch', (dataset) => dataset.batch(2)],
    ['shuffle', (dataset) => dataset.shuffle({ bufferSize: 2 })],
    ['prefetch', (dataset) => dataset.prefetch(2)],
    ['repeat', (dataset) => dataset.repeat(2)],
    ['bucketByLength', (dataset) => dataset.bucketByLength({ length: (k) => k, batchSize: 2 })],
    ['shard', (dataset) => dataset.batch(2).shard({ rank: 0, size: 1 })],
  ])('closes its source when its reader stops: %s', async (_, build) => {
    const { counts, dataset } = watched()
    for await (const _element of build(dataset)) break
    expect(counts.open).toBe(0)
    expect(counts.read).toBeGreaterThan(0)
  })

  it('can be closed after an element failed', async () => {
    const { counts, dataset } = watched()
    const failing = dataset.map((k) => {
      if (k === 1) throw new Error('bad element')
      return k
    })
    const iterator = failing.iterate()
    await iterator.next()
    await expect(iterator.next()).rejects.toThrow('bad element')
    await iterator.return()
    expect(counts.open).toBe(0)
  })

  it('refuses a read function whose result is not a sequence', async () => {
    const read = async () =>
      await Dataset.from((() => 3) as never)
        [Symbol.asyncIterator]()
        .next()
    await expect(read()).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
  })
})

describe('Dataset', () => {
  it.each<[string, () => unknown, string]>([
    ['a source without open', () => new Dataset({} as never), 'ERR_INVALID_ARGUMENT'],
    ['a number for an array', () => Dataset.fromArray(3 as never), 'ERR_INVALID_ARGUMENT'],
    ['a list for a read function', () => Dataset.from([1] as never), 'ERR_INVALID_ARGUMENT'],
    ['a transform that cannot be called', () => Dataset.fromArray([1]).map(3 as never), 'ERR_INVALID_ARGUMENT'],
    ['no transform at a time', () => Dataset.fromArray([1]).map((k) => k, { concurrency: 0 }), 'ERR_INVALID_OPTION'],
    ['half a buffer', () => Dataset.fromArray([1]).shuffle({ bufferSize: 0.5 }), 'ERR_INVALID_OPTION'],
    ['a seed below 0', () => Dataset.fromArray([1]).shuffle({ bufferSize: 1, seed: -1 }), 'ERR_INVALID_OPTION'],
    ['another name of an option', () => Dataset.fromArray([1]).shuffle({ size: 1 } as never), 'ERR_UNKNOWN_OPTION'],
    ['no pass', () => Dataset.fromArray([1]).repeat(0), 'ERR_INVALID_OPTION'],
    [
      'no element at a time',
      () => Dataset.fromArray([1]).bucketByLength({ length: (k) => k, batchSize: 0 }),
      'ERR_INVALID_OPTION',
    ],
  ])('refuses %s when it is built', (_, build, code) => {
    expect(build).toThrow(coded(code))
  })

  it('describes its stages, in their order', () => {
    const numbers = Dataset.fromArray([1, 2, 3])
    const described = numbers.shuffle({ bufferSize: 3, seed: 4 }).repeat(2).batch(2, { dropRemainder: true })
    expect(described.describe()).toMatch(
      /^array of 3 elements [0-9a-f]{8}, shuffled in blocks of 3 by seed 4, 2 times, batches of 2 without the remainder$/,
    )
    // Stages that leave elements and order as they are add nothing: ranks may differ in them.
    for (const stage of [numbers.map((k) => k), numbers.prefetch(), numbers.shard({ rank: 0, size: 1 })]) {
      expect(stage.describe()).toBe(numbers.describe())
    }
    expect(Dataset.from(() => []).describe()).toBe('elements')
  })
})
