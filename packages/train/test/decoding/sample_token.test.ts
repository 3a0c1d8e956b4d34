import { Philox } from '@cudnn-rnn/ops/executor'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { SamplingOptions } from '../../src/decoding/sample_token.js'
import { generate, sampleToken } from '../../src/index.js'

const probabilities = [0.5, 0.25, 0.15, 0.1]
const logits = Float32Array.from(probabilities, Math.log)

function frequencies(options: SamplingOptions): number[] {
  const random = new Philox(1)
  const draws = 20_000
  const counts = probabilities.map(() => 0)
  for (let n = 0; n < draws; n++) counts[sampleToken(logits, random, options)] += 1 / draws
  return counts
}

it.each<[string, SamplingOptions, number[]]>([
  ['the distribution itself', {}, [0.5, 0.25, 0.15, 0.1]],
  ['temperature ½ squares the odds', { temperature: 0.5 }, [0.25, 0.0625, 0.0225, 0.01].map((p) => p / 0.345)],
  ['the two most likely', { topK: 2 }, [2 / 3, 1 / 3, 0, 0]],
  ['the nucleus of 0.8', { topP: 0.8 }, [0.5, 0.25, 0.15, 0].map((p) => p / 0.9)],
  ['the most likely at temperature 0', { temperature: 0 }, [1, 0, 0, 0]],
])('sampleToken draws %s', (_, options, expected) => {
  for (const [id, frequency] of frequencies(options).entries()) {
    // Four standard deviations of a frequency over 20,000 draws.
    expect(Math.abs(frequency - expected[id])).toBeLessThan(expected[id] === 0 ? 1e-9 : 0.015)
  }
})

it('sampleToken never draws an id of logit -∞ and refuses NaN', () => {
  const random = new Philox(0)
  expect(sampleToken(Float32Array.of(-Infinity, 0, -Infinity), random)).toBe(1)
  const code = coded('ERR_NOT_FINITE')
  expect(() => sampleToken(Float32Array.of(0, Number.NaN), random)).toThrow(code)
  expect(() => sampleToken(Float32Array.of(-Infinity), random)).toThrow(code)
  const detached = Float32Array.of(0)
  structuredClone(detached, { transfer: [detached.buffer] })
  for (const none of [new Float32Array(0), detached]) expect(() => sampleToken(none, random)).toThrow(code)
})

it('generate streams the continuation of the prompt, ends at endId and stops with its reader', async () => {
  const read: number[] = []
  const next = (id: number) => {
    read.push(id)
    return Float32Array.from({ length: 6 }, (_, k) => (k === id + 1 ? 50 : 0))
  }
  const ids: number[] = []
  for await (const id of generate(next, { prompt: [0, 1], endId: 5 })) ids.push(id)
  expect(ids).toEqual([2, 3, 4])
  expect(read).toEqual([0, 1, 2, 3, 4])
  read.length = 0
  for await (const id of generate(next, { prompt: [0] })) if (id === 2) break
  expect(read).toEqual([0, 1])
})

it('generate stops with the reason of its signal', async () => {
  const ids = generate(() => Float32Array.of(0, 0), { prompt: [0], signal: AbortSignal.abort(new Error('enough')) })
  await expect(ids.next()).rejects.toThrow('enough')
})
