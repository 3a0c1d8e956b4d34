import { describe, expect, it } from 'vitest'
import { DeviceBuffer } from '../src/device/device_buffer.js'
import type { DeviceSession } from '../src/device/device_session.js'
import { type PlanParts, planKey, rnnPlan } from '../src/rnn/rnn_plan.js'

/** Makes plans whose descriptors are numbered, and records the objects that they destroy. */
function plans() {
  const destroyed: (number | null)[] = []
  const freed: number[] = []
  let next = 0
  const home = { newId: <Id>() => ++next as Id, account: () => {}, release: ({ id }: DeviceBuffer) => freed.push(id) }
  const session = { destroy: (...ids: (number | null)[]) => destroyed.push(...ids) } as unknown as DeviceSession
  const make = (first: number, lengths: readonly ('given' | 'real')[] = []) =>
    rnnPlan(session, {
      descriptors: { x: first, y: first + 1, h: first + 2, c: null },
      lengths: Object.fromEntries(lengths.map((name) => [name, new DeviceBuffer(home, 8)])),
    } as unknown as PlanParts)
  return { make, destroyed, freed }
}

describe('rnnPlan', () => {
  it('destroys its descriptors and frees its lengths with the last owner, once', () => {
    const { make, destroyed, freed } = plans()
    const plan = make(10, ['given', 'real']).retain()
    plan.release()
    expect([destroyed, freed]).toEqual([[], []])
    plan.release()
    expect(destroyed).toEqual([10, 11, 12, null])
    expect(freed).toEqual([1, 2])
    plan.release()
    expect(destroyed).toHaveLength(4)
  })
})

describe('planKey', () => {
  const sizes = { time: 5, batch: 2, sequenceLengths: null }

  it('distinguishes plans by time, rows, lengths and training', () => {
    const keys = [
      planKey(sizes, true),
      planKey(sizes, false),
      planKey({ ...sizes, time: 2, batch: 5 }, true),
      planKey({ ...sizes, sequenceLengths: Int32Array.of(5, 5) }, true),
      planKey({ ...sizes, sequenceLengths: Int32Array.of(5, 1) }, true),
      planKey({ ...sizes, batch: 1, sequenceLengths: Int32Array.of(51) }, true),
    ]
    expect(new Set(keys).size).toBe(keys.length)
    expect(planKey({ ...sizes }, true)).toBe(keys[0])
  })
})
