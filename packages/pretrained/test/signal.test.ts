import { expect, it } from 'vitest'
import { mixChannels } from '../src/signal/mix_channels.js'
import { OverlapAdd, SlidingBlock } from '../src/signal/overlap_add.js'
import { hannWindow, RealFourier } from '../src/signal/real_fourier.js'
import { splitMagnitudes } from '../src/signal/split_magnitudes.js'
import { wavFile } from '../src/signal/wav_file.js'

it('the magnitudes of a tone are at its frequency, and the inverse transform gives the samples', () => {
  const fourier = new RealFourier(16)
  const tone = Float32Array.from({ length: 16 }, (_, n) => 3 * Math.cos((2 * Math.PI * 2 * n) / 16))
  const spectrum = fourier.transform(tone)
  const magnitudes = fourier.magnitudes(spectrum)
  expect(magnitudes).toHaveLength(9)
  for (const [k, magnitude] of magnitudes.entries()) expect(magnitude).toBeCloseTo(k === 2 ? 24 : 0, 5)
  const half = fourier.inverse(spectrum, new Float32Array(9).fill(0.5))
  for (const [n, value] of half.entries()) expect(value).toBeCloseTo(tone[n] / 2, 5)
})

it('Hann windows half a block apart add up to one, and so the signal is restored a block later', () => {
  const window = hannWindow(8)
  const [input, output] = [new SlidingBlock(8), new OverlapAdd(8, 4)]
  const signal = Float32Array.from({ length: 40 }, (_, n) => Math.sin(n))
  for (let begin = 0; begin < signal.length; begin += 4) {
    const block = input.push(signal.subarray(begin, begin + 4))
    const done = output.push(block.map((value, n) => value * window[n]))
    for (const [n, value] of done.entries()) expect(value).toBeCloseTo(signal[begin - 4 + n] ?? 0, 6)
  }
})

it('magnitudes of rows that have the real parts first', () => {
  expect([...splitMagnitudes([3, 0, 4, -2, 6, 1, 8, 0], 2)]).toEqual([5, 2, 10, 1])
})

it('mixChannels gives the mean of the channels', () => {
  const only = Float32Array.of(1, 2)
  expect(mixChannels([only])).toBe(only)
  expect([...mixChannels([only, Float32Array.of(3, -2)])]).toEqual([2, 0])
})

it('wavFile writes a header of 44 bytes and limited 16-bit samples', () => {
  const bytes = wavFile(Float32Array.of(0, 0.5, -1, 2))
  const view = new DataView(bytes.buffer)
  const text = (at: number) => String.fromCharCode(...bytes.subarray(at, at + 4))
  expect([text(0), text(8), text(12), text(36)]).toEqual(['RIFF', 'WAVE', 'fmt ', 'data'])
  expect([view.getUint32(4, true), view.getUint32(40, true), bytes.length]).toEqual([44, 8, 52])
  expect([view.getUint16(22, true), view.getUint32(24, true), view.getUint32(28, true)]).toEqual([1, 16_000, 32_000])
  expect([...new Int16Array(bytes.buffer, 44)]).toEqual([0, 16384, -32767, 32767])
})
