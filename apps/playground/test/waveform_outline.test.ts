import { expect, it } from 'vitest'
import { peak, waveformOutline } from '../src/speech/waveform_outline.js'

it('waveformOutline has the extremes of equal parts', () => {
  const { low, high } = waveformOutline(Float32Array.of(1, -2, 3, 0, -5, 4, 4), 3)
  expect([...low]).toEqual([-2, -5, 4])
  expect([...high]).toEqual([3, 0, 4])
})

it('waveformOutline of few samples has a column for each', () => {
  const { low, high } = waveformOutline(Float32Array.of(1, -2), 800)
  expect([[...low], [...high]]).toEqual([
    [1, -2],
    [1, -2],
  ])
})

it('peak is the largest magnitude', () => {
  expect(peak(Float32Array.of(0.25, -0.5))).toBe(0.5)
  expect(peak(new Float32Array(0))).toBe(0)
})
