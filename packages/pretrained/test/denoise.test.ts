import { describe, expect, it } from 'vitest'
import { denoise } from '../src/denoise.js'
import { BLOCK, type Dtln, SHIFT } from '../src/dtln.js'
import { OverlapAdd, SlidingBlock } from '../src/signal/overlap_add.js'
import type { SileroVad } from '../src/silero_vad.js'
import { FRAME } from '../src/silero_weights.js'
import { speechProbabilities } from '../src/speech_probabilities.js'

const ramp = (length: number) => Float32Array.from({ length }, (_, n) => n + 1)

/** A model that gives its input back after the delay of a block. */
function delaying(): { model: Dtln; frames: number[] } {
  const frames: number[] = []
  const kept = new Float32Array(BLOCK)
  const process = async (samples: Float32Array) => {
    frames.push(samples.length)
    kept.copyWithin(0, SHIFT)
    kept.set(samples, BLOCK - SHIFT)
    return kept.slice(0, SHIFT)
  }
  return { model: { process } as unknown as Dtln, frames }
}

describe('denoise', () => {
  it.each([0, 1, SHIFT - 1, SHIFT, SHIFT + 1, BLOCK, 3 * BLOCK + 5])(
    'takes the delay of the model out of %i samples',
    async (length) => {
      const { model, frames } = delaying()
      expect(await denoise(model, ramp(length))).toEqual(ramp(length))
      expect(frames.every((size) => size === SHIFT)).toBe(true)
    },
  )

  it('leaves the recording as it is, and computes each frame by the step given', async () => {
    const noisy = ramp(2 * SHIFT)
    let steps = 0
    const { model, frames } = delaying()
    await denoise(model, noisy, (compute) => {
      steps++
      return compute()
    })
    expect(noisy).toEqual(ramp(2 * SHIFT))
    expect([steps, frames.length]).toEqual([frames.length, (2 * SHIFT + BLOCK - SHIFT) / SHIFT])
  })

  it('ends with the error of a step', async () => {
    const { model, frames } = delaying()
    const canceled = new Error('canceled')
    const run = denoise(model, ramp(10 * SHIFT), async (compute) => {
      if (frames.length === 2) throw canceled
      return compute()
    })
    await expect(run).rejects.toBe(canceled)
    expect(frames).toHaveLength(2)
  })
})

describe('speechProbabilities', () => {
  const model = {
    process: async (samples: Float32Array) => samples.reduce((sum, value) => sum + value, 0) / samples.length,
  } as unknown as SileroVad

  it('has one for each whole frame', async () => {
    const samples = new Float32Array(3 * FRAME - 1)
    samples
      .fill(0.25, 0, FRAME)
      .fill(0.75, FRAME, 2 * FRAME)
      .fill(9, 2 * FRAME)
    expect(await speechProbabilities(model, samples)).toEqual([0.25, 0.75])
    expect(await speechProbabilities(model, samples.subarray(0, FRAME - 1))).toEqual([])
  })

  it('computes each by the step given', async () => {
    const seen: number[] = []
    await speechProbabilities(model, new Float32Array(2 * FRAME), async (compute) => {
      seen.push(await compute())
      return 1
    })
    expect(seen).toEqual([0, 0])
  })
})

describe('SlidingBlock and OverlapAdd', () => {
  it('hold the last samples of pieces of any length', () => {
    const block = new SlidingBlock(4)
    expect([...block.push(Float32Array.of(1))]).toEqual([0, 0, 0, 1])
    expect([...block.push(Float32Array.of(2, 3))]).toEqual([0, 1, 2, 3])
    expect([...block.push(Float32Array.of(4, 5, 6, 7))]).toEqual([4, 5, 6, 7])
  })

  it('add up blocks that overlap, and give each sample once', () => {
    const sums = new OverlapAdd(4, 2)
    const done = [1, 10, 100].flatMap((value) => [...sums.push(new Float32Array(4).fill(value))])
    expect(done).toEqual([1, 1, 11, 11, 110, 110])
  })
})
