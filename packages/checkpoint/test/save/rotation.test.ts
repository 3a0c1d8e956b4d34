import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { CheckpointState } from '../../src/save/checkpoint_state.js'
import { rotate } from '../../src/save/rotation.js'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Saves checkpoints at these hours, and returns the paths that each save evicts and the last state. */
function run(hours: readonly number[], maxToKeep: number, keepCheckpointEveryNHours = Number.POSITIVE_INFINITY) {
  let state: CheckpointState | undefined
  const evicted: string[][] = []
  for (const hour of hours) {
    vi.setSystemTime(hour * 3_600_000)
    const saved = `at-${hour}`
    const rotated = rotate(state, saved, (path) => path === saved, { maxToKeep, keepCheckpointEveryNHours })
    state = rotated.state
    evicted.push(rotated.evicted.map(({ path }) => path))
  }
  return { state, evicted }
}

describe('rotate', () => {
  it('keeps so many checkpoints, the newest last', () => {
    const { state, evicted } = run([1, 2, 3, 4], 2)
    expect(evicted).toEqual([[], [], ['at-1'], ['at-2']])
    expect(state).toEqual({
      modelCheckpointPath: 'at-4',
      allModelCheckpointPaths: ['at-3', 'at-4'],
      allModelCheckpointTimestamps: [3 * 3600, 4 * 3600],
      lastPreservedTimestamp: 3600,
    })
  })

  it('keeps all and lists the newest where the number is 0', () => {
    const { state, evicted } = run([1, 2, 3], 0)
    expect(evicted).toEqual([[], [], []])
    expect(state?.allModelCheckpointPaths).toEqual(['at-3'])
  })

  it('keeps one checkpoint for every so many hours, counted from the one that was kept', () => {
    // The first is at 0 h, which counts as kept; a checkpoint more than 2 h after the last kept one stays.
    const { evicted } = run([0, 1, 2, 3, 4, 5, 6, 7], 1, 2)
    expect(evicted).toEqual([[], ['at-0'], ['at-1'], ['at-2'], [], ['at-4'], ['at-5'], []])
  })

  it('moves a checkpoint that is saved again to the end, and evicts it once', () => {
    vi.setSystemTime(3_600_000)
    const before = {
      modelCheckpointPath: 'b',
      allModelCheckpointPaths: ['a', 'b'],
      allModelCheckpointTimestamps: [10, 20],
      lastPreservedTimestamp: 10,
    }
    const retention = { maxToKeep: 2, keepCheckpointEveryNHours: Number.POSITIVE_INFINITY }
    const { state, evicted } = rotate(before, 'a', (path) => path === 'a', retention)
    expect(state.allModelCheckpointPaths).toEqual(['b', 'a'])
    expect(state.allModelCheckpointTimestamps).toEqual([20, 3600])
    expect(evicted).toEqual([])
    // The argument is not changed.
    expect(before.allModelCheckpointPaths).toEqual(['a', 'b'])
  })

  it('takes a checkpoint without a time as saved now, and evicts several where fewer are kept', () => {
    vi.setSystemTime(3_600_000)
    const before = {
      modelCheckpointPath: 'c',
      allModelCheckpointPaths: ['a', 'b', 'c'],
      allModelCheckpointTimestamps: [],
      lastPreservedTimestamp: undefined,
    } as unknown as CheckpointState
    const retention = { maxToKeep: 1, keepCheckpointEveryNHours: 1 }
    const { state, evicted } = rotate(before, 'd', (path) => path === 'd', retention)
    expect(evicted.map(({ path, time }) => [path, time])).toEqual([
      ['a', 3600],
      ['b', 3600],
      ['c', 3600],
    ])
    expect(state.lastPreservedTimestamp).toBe(3600)
  })
})
