import { describe, expect, it } from 'vitest'
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

describe('RealFourier', () => {
  it('has the sum of the samples at frequency 0, and their alternating sum at the last', () => {
    const fourier = new RealFourier(4)
    expect(fourier.bins).toBe(3)
    const spectrum = fourier.transform(Float32Array.of(1, 2, 3, 5))
    // 1 + 2 + 3 + 5; (1 - 3) - i(2 - 5); 1 - 2 + 3 - 5
    expect([...spectrum.slice(0, 6)]).toEqual([11, 0, -2, 3, -3, 0])
    expect([...fourier.magnitudes(spectrum)]).toEqual([11, Math.fround(Math.sqrt(13)), 3])
  })

  it('gives silence for gains of 0, and one frequency alone for a gain at it', () => {
    const fourier = new RealFourier(8)
    const samples = Float32Array.from({ length: 8 }, (_, n) => 2 + Math.cos((2 * Math.PI * n) / 8))
    const silent = fourier.inverse(fourier.transform(samples), new Float32Array(5))
    expect([...silent]).toEqual(new Array(8).fill(0))
    const mean = fourier.inverse(fourier.transform(samples), Float32Array.of(1, 0, 0, 0, 0))
    for (const value of mean) expect(value).toBeCloseTo(2, 6)
  })

  it('makes a new spectrum for each block', () => {
    const fourier = new RealFourier(4)
    const first = fourier.transform(Float32Array.of(1, 0, 0, 0))
    const before = [...first]
    fourier.transform(Float32Array.of(9, 9, 9, 9))
    expect([...first]).toEqual(before)
  })

  it.each([3, 6, 0])('refuses blocks of %i samples, which are not a power of two', (size) => {
    expect(() => new RealFourier(size)).toThrow()
  })
})

describe('hannWindow', () => {
  it('is 0 at its begin, 1 in its middle, and repeats after N samples', () => {
    expect([...hannWindow(4)]).toEqual([0, 0.5, 1, 0.5].map((value) => expect.closeTo(value, 7)))
    expect(hannWindow(1)[0]).toBe(0)
    expect(hannWindow(0)).toHaveLength(0)
  })
})

describe('OverlapAdd', () => {
  it('gives the samples that no later block reaches, in a separate array', () => {
    const sums = new OverlapAdd(6, 2)
    const first = sums.push(Float32Array.of(1, 2, 3, 4, 5, 6))
    const second = sums.push(new Float32Array(6))
    const third = sums.push(new Float32Array(6))
    expect([[...first], [...second], [...third]]).toEqual([
      [1, 2],
      [3, 4],
      [5, 6],
    ])
    expect([...sums.push(new Float32Array(6))]).toEqual([0, 0])
    expect([...first]).toEqual([1, 2])
  })

  it('passes blocks on as they are where they do not overlap', () => {
    const sums = new OverlapAdd(2, 2)
    expect([...sums.push(Float32Array.of(1, 2))]).toEqual([1, 2])
    expect([...sums.push(Float32Array.of(3, 4))]).toEqual([3, 4])
  })
})

describe('mixChannels', () => {
  it('is empty without channels, and leaves its inputs', () => {
    expect(mixChannels([])).toHaveLength(0)
    const channels = [1, 2, 6].map((value) => Float32Array.of(value, -value))
    expect([...mixChannels(channels)]).toEqual([3, -3])
    expect(channels.map(([value]) => value)).toEqual([1, 2, 6])
  })
})

describe('splitMagnitudes', () => {
  it('has a row of K for each row of 2·K', () => {
    expect([...splitMagnitudes(Float32Array.of(3, -5, 4, 12, 0, 8, 1, -6), 2)]).toEqual([5, 13, 1, 10])
    expect(splitMagnitudes([], 2)).toHaveLength(0)
  })
})

describe('wavFile', () => {
  const samplesOf = (...values: number[]) => [...new Int16Array(wavFile(Float32Array.from(values)).buffer, 44)]

  it('rounds to the nearest of 32767 steps, equally above and below 0', () => {
    expect(samplesOf(1 / 32_767, -1 / 32_767, 0.4 / 32_767, 1, -1)).toEqual([1, -1, 0, 32_767, -32_767])
  })

  it('limits infinite samples, and writes NaN as silence', () => {
    expect(samplesOf(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, -1.5)).toEqual([
      32_767, -32_767, 0, -32_767,
    ])
  })

  it('is a header alone without samples', () => {
    const bytes = wavFile(new Float32Array(0))
    const view = new DataView(bytes.buffer)
    expect([bytes.length, view.getUint32(4, true), view.getUint32(40, true)]).toEqual([44, 36, 0])
    // PCM of one channel, 2 bytes a frame of 16 bits.
    expect([20, 22, 32, 34].map((at) => view.getUint16(at, true))).toEqual([1, 1, 2, 16])
  })
})
