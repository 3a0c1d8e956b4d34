import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  fitNetwork,
  medianOfSlowest,
  reduceTime,
  relativeSteps,
  stepTime,
} from '../bench/bench_distributed/cost_model.mjs'
import { callsOfSteps, tracedCommunicator } from '../bench/bench_distributed/traced_communicator.mjs'
import { skewOfIndependent, waitsOf } from '../bench/bench_distributed/waits.mjs'

describe('cost model', () => {
  const network = { latency: 0.5, bandwidth: 1000 }

  it('fits the latency and bandwidth of a network that is exact', () => {
    const points = [4000, 100_000, 5_000_000].map((bytes) => ({ bytes, time: reduceTime(network, 2, bytes) }))
    const fitted = fitNetwork(points)
    expect(fitted.latency).toBeCloseTo(0.5, 9)
    expect(fitted.bandwidth).toBeCloseTo(1000, 6)
  })

  it('sends an n-th of the bytes in each of 2(n-1) phases', () => {
    expect(reduceTime(network, 1, 8000)).toBe(0)
    expect(reduceTime(network, 2, 8000)).toBe(2 * (0.5 + 4))
    expect(reduceTime(network, 4, 8000)).toBe(6 * (0.5 + 2))
  })

  it.each([1, 2, 3, 4])('takes the median of the longest of %d steps as all combinations have it', (ranks) => {
    const times = Array.from({ length: 21 }, (_, k) => 100 + k ** 2)
    let longest = times
    for (let rank = 1; rank < ranks; rank++) longest = longest.flatMap((a) => times.map((b) => Math.max(a, b)))
    const middle = longest.toSorted((a, b) => a - b)[longest.length >> 1]
    const neighbors = [times[times.indexOf(middle) - 1], times[times.indexOf(middle) + 1]]
    const predicted = medianOfSlowest(times, ranks)
    expect(predicted).toBeGreaterThan(neighbors[0])
    expect(predicted).toBeLessThan(neighbors[1])
  })

  it('divides steps by the median of their run', () => {
    expect(
      relativeSteps([
        [10, 11, 9],
        [200, 220, 180],
      ]),
    ).toEqual([1, 1.1, 0.9, 1, 1.1, 0.9])
  })

  it('has contention and the wait for the slowest from two ranks on, and as many turns as ranks share a core', () => {
    const model = { step: 100, contention: 1.1, spread: [0.9, 1, 1.2], cores: 2, network, bytes: 8000 }
    expect(stepTime(model, 1)).toBe(100)
    for (const [ranks, turns] of [
      [2, 1],
      [3, 2],
      [4, 2],
      [5, 3],
    ]) {
      const slowest = medianOfSlowest(model.spread, ranks)
      expect(stepTime(model, ranks)).toBeCloseTo(110 * turns * slowest + reduceTime(network, ranks, 8000), 9)
    }
  })
})

describe('waits', () => {
  it('separate the wait for the last rank from the exchange', () => {
    const first = [
      { begin: 0, end: 12 },
      { begin: 20, end: 23 },
    ]
    const second = [
      { begin: 10, end: 13 },
      { begin: 20, end: 22 },
    ]
    expect(waitsOf([first, second], 2)).toEqual({ skew: 10 / 4, exchange: (2 + 3 + 3 + 2) / 4 })
  })

  it('of independent processes are those of all pairs of their steps', () => {
    expect(
      skewOfIndependent([
        [10, 10],
        [10, 10],
      ]),
    ).toBe(0)
    expect(
      skewOfIndependent([
        [10, 20],
        [10, 20],
      ]),
    ).toBe(2.5)
  })

  it('are those of the last steps', async () => {
    const world = { rank: 0, size: 1, allGather: async (bytes) => [bytes], tensorSum: () => async () => {} }
    const { communicator, calls } = tracedCommunicator(world)
    const sum = communicator.tensorSum({})
    for (let step = 0; step < 3; step++) {
      await communicator.allGather(new Uint8Array(step))
      await sum([])
    }
    expect(await communicator.allGather(Uint8Array.of(7))).toEqual([Uint8Array.of(7)])
    const last = callsOfSteps(calls, 2)
    expect(last.map(({ name }) => name)).toEqual(['allGather', 'tensorSum', 'allGather', 'tensorSum'])
    expect(last).toEqual(calls.slice(2, 6))
    for (const { begin, end } of last) expect(end).toBeGreaterThanOrEqual(begin)
  })
})

it('the predictions of the guide are those of the cost model', () => {
  const guide = readFileSync(new URL('../../docs/guide/cluster.md', import.meta.url), 'utf8')
  const [, table] = /<!-- predictions -->([\s\S]*?)<!-- end of predictions -->/.exec(guide)
  const rows = [
    ...table.matchAll(/^\| (\d+) [^|]*\| (\d+) µs \| ([\d.]+) GB\/s \| (\d+) MB \| ([\d.]+) ms \| ([\d.]+) % \|$/gm),
  ]
  expect(rows).toHaveLength(5)
  for (const [, ranks, latency, bandwidth, megabytes, time, share] of rows) {
    const network = { latency: Number(latency) / 1000, bandwidth: Number(bandwidth) * 1e6 }
    const predicted = reduceTime(network, Number(ranks), Number(megabytes) * 1e6)
    expect(predicted.toFixed(2)).toBe(time)
    expect(((100 * 50) / (50 + predicted)).toFixed(1)).toBe(share)
  }
})
