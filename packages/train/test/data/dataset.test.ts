import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { Dataset, type Position, padSequences, textDataset, truncatedWindows } from '../../src/index.js'

const numbers = (count: number) => Dataset.fromArray(Array.from({ length: count }, (_, k) => k))

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const PIPELINES: Readonly<Record<string, () => Dataset<unknown>>> = {
  fromArray: () => numbers(7),
  from: () => Dataset.from(() => [3, 1, 2]),
  map: () => numbers(7).map(async (n) => n * n, { concurrency: 3 }),
  shuffle: () => numbers(10).shuffle({ bufferSize: 4, seed: 3 }),
  'shuffle, repeat': () => numbers(5).shuffle({ bufferSize: 5, seed: 1 }).repeat(3),
  'repeat, shuffle, batch': () => numbers(5).repeat(2).shuffle({ bufferSize: 3 }).batch(2),
  bucketByLength: () => numbers(11).bucketByLength({ length: (n) => n % 4, batchSize: 2, poolSize: 6 }),
  'map, prefetch': () =>
    numbers(6)
      .map((n) => -n)
      .prefetch(3),
  truncatedWindows: () =>
    new Dataset(
      truncatedWindows(
        Int32Array.from({ length: 25 }, (_, k) => k),
        { time: 3, batch: 2 },
      ),
    ).repeat(2),
}

it.each(Object.keys(PIPELINES))('%s resumes from the position after any element, through JSON', async (name) => {
  const make = PIPELINES[name]
  const whole = await collect(make())
  expect(whole.length).toBeGreaterThan(2)
  for (let taken = 0; taken <= whole.length; taken++) {
    const iterator = make().iterate()
    for (let k = 0; k < taken; k++) expect((await iterator.next()).value).toEqual(whole[k])
    const position = JSON.parse(JSON.stringify(iterator.position)) as Position
    await iterator.return()
    expect(await collect(make().iterate(position))).toEqual(whole.slice(taken))
  }
})

it('Dataset.shuffle permutes, differs by epoch and seed, and repeats by seed', async () => {
  const passes = await collect(numbers(20).shuffle({ bufferSize: 20, seed: 5 }).repeat(2))
  const [first, second] = [passes.slice(0, 20), passes.slice(20)]
  expect(first.toSorted((a, b) => a - b)).toEqual(await collect(numbers(20)))
  expect(second).not.toEqual(first)
  expect(await collect(numbers(20).shuffle({ bufferSize: 20, seed: 5 }))).toEqual(first)
  expect(await collect(numbers(20).shuffle({ bufferSize: 20, seed: 6 }))).not.toEqual(first)
})

it('Dataset.map runs no more than `concurrency` transforms at once and keeps the order', async () => {
  let running = 0
  let most = 0
  const slow = numbers(9).map(
    async (n) => {
      most = Math.max(most, ++running)
      await new Promise((resolve) => setTimeout(resolve, (9 - n) % 3))
      running--
      return n
    },
    { concurrency: 3 },
  )
  expect(await collect(slow)).toEqual(await collect(numbers(9)))
  expect(most).toBe(3)
})

it('Dataset.prefetch reads ahead that far and no farther', async () => {
  let read = 0
  const counted = Dataset.from(function* () {
    for (;;) yield ++read
  }).prefetch(3)
  const iterator = counted.iterate()
  await iterator.next()
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(read).toBe(4)
  await iterator.return()
})

it('Dataset.prefetch refuses to read more ahead than it could keep', () => {
  for (const size of [2 ** 32, 65_537, 0, 1.5, Number.POSITIVE_INFINITY]) {
    expect(() => numbers(3).prefetch(size)).toThrow(coded('ERR_INVALID_OPTION'))
  }
  expect(() => numbers(3).prefetch(65_536)).not.toThrow()
})

function failAtTwo(n: number): number {
  if (n === 2) throw new Error('bad element')
  return n
}

it.each<[string, (data: Dataset<number>) => Dataset<unknown>]>([
  ['map', (data) => data.map(failAtTwo)],
  ['a stage after map', (data) => data.map(failAtTwo).repeat().batch(2)],
  ['map, while reading ahead,', (data) => data.map(failAtTwo, { concurrency: 2 }).prefetch(2)],
])('Dataset rejects with the error of %s, ends its source, and has no elements after that', async (_, stages) => {
  let isOpen = false
  const data = Dataset.from(function* () {
    isOpen = true
    try {
      for (let n = 0; ; n++) yield n
    } finally {
      isOpen = false
    }
  })
  const elements = stages(data).iterate()
  await expect(collect(elements)).rejects.toThrow('bad element')
  await expect.poll(() => isOpen, { timeout: 100_000 }).toBe(false)
  expect(await elements.next()).toEqual({ done: true, value: undefined })
})

it('Dataset.repeat of nothing ends; counts below 1 are refused', async () => {
  expect(await collect(numbers(0).repeat())).toEqual([])
  expect(() => numbers(3).batch(0)).toThrow(coded('ERR_INVALID_OPTION'))
})

it('Dataset.batch keeps or drops the remainder', async () => {
  expect(await collect(numbers(5).batch(2))).toEqual([[0, 1], [2, 3], [4]])
  expect(await collect(numbers(5).batch(2, { dropRemainder: true }))).toEqual([
    [0, 1],
    [2, 3],
  ])
})

it('Dataset.bucketByLength keeps every element and sorts within a batch', async () => {
  const batches = await collect(numbers(11).bucketByLength({ length: (n) => n % 4, batchSize: 3 }))
  expect(batches.flat().toSorted((a, b) => a - b)).toEqual(await collect(numbers(11)))
  const spreads = batches.map((batch) => (batch.at(-1)! % 4) - (batch[0] % 4))
  expect(Math.max(...spreads)).toBeLessThanOrEqual(1)
})

it('padSequences is time-major, with lengths and mask', () => {
  const sequence = (...data: number[]) => ({ data: Float32Array.from(data), shape: [data.length / 2, 2] })
  const { tensor, lengths, mask } = padSequences([sequence(1, 2), sequence(3, 4, 5, 6)], -1)
  expect(tensor).toEqual({ data: Float32Array.of(1, 2, 3, 4, -1, -1, 5, 6), shape: [2, 2, 2] })
  expect([...lengths]).toEqual([1, 2])
  expect([...mask.data]).toEqual([1, 1, 0, 1])
  const other = { data: Float32Array.of(1, 2, 3), shape: [1, 3] }
  expect(() => padSequences([sequence(1, 2), other])).toThrow(coded('ERR_SHAPE', { row: 1 }))
})

it('Dataset.paddedBatch joins sequences and hands the elements on', async () => {
  const words = Dataset.fromArray(['a', 'bcd', 'ef']).paddedBatch(
    2,
    (word) => ({ data: Int32Array.from(word, (letter) => letter.charCodeAt(0)), shape: [word.length] }),
    -1,
  )
  const [first, second] = await collect(words)
  expect(first).toMatchObject({ items: ['a', 'bcd'], lengths: Int32Array.of(1, 3) })
  expect(first.tensor).toEqual({ data: Int32Array.of(97, 98, -1, 99, -1, 100), shape: [3, 2] })
  expect(first.mask.data).toEqual(Float32Array.of(1, 1, 0, 1, 0, 1))
  expect(second).toMatchObject({ items: ['ef'], lengths: Int32Array.of(2) })
})

it('calls of next that do not wait for each other have the elements in order, and after return there are none', async () => {
  const slow = Dataset.fromArray([1, 2, 3]).map(async (value) => value, { concurrency: 3 })
  const all = slow.iterate()
  const results = await Promise.all([all.next(), all.next(), all.next(), all.next()])
  expect(results.map(({ value }) => value)).toEqual([1, 2, 3, undefined])
  const begun = slow.iterate()
  await begun.next()
  await begun.return()
  expect(await begun.next()).toEqual({ done: true, value: undefined })
})

it('truncatedWindows continues each row where the window before ended', async () => {
  const ids = Int32Array.from({ length: 25 }, (_, k) => k)
  const windows = await collect(new Dataset(truncatedWindows(ids, { time: 3, batch: 2 })))
  expect(windows).toHaveLength(4)
  expect([...windows[0].inputs.data]).toEqual([0, 12, 1, 13, 2, 14])
  expect([...windows[0].labels.data]).toEqual([1, 13, 2, 14, 3, 15])
  expect([...windows[1].inputs.data]).toEqual([3, 15, 4, 16, 5, 17])
  expect(windows.map(({ restarts }) => restarts)).toEqual([true, false, false, false])
  expect(() => truncatedWindows(ids, { time: 25, batch: 1 })).toThrow(coded('ERR_SEQUENCE_TOO_SHORT'))
})

it('Dataset prints its elements and their order, and a file that is missing as none', () => {
  expect(String(numbers(3).batch(2))).toMatch(/^Dataset \{ elements: "array of 3 elements \w+, batches of 2" \}$/)
  expect(String(textDataset('/missing.txt'))).toBe('Dataset')
})
