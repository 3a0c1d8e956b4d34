import { describe, expect, it } from 'vitest'
import { splitOrigins } from '../../src/forecast/forecast_windows.js'
import { WindowEncoder } from '../../src/forecast/window_encoder.js'

const wave = (k: number) => 3 * k + 10 * Math.sin((Math.PI * k) / 3) + Math.sin(k * k)
const values = Float64Array.from({ length: 90 }, (_, k) => wave(k))

describe.each([1, 6])('WindowEncoder, season %d', (season) => {
  const shape = { window: 8, horizon: 9, season, heldOut: 12 }
  const origins = splitOrigins(values.length, shape)
  const encoder = new WindowEncoder(values, shape, origins.train)

  it('decodes its own targets to the values that came', () => {
    const [origin] = origins.test as [number]
    const { data } = encoder.targets([origin])
    for (const [k, value] of encoder.decode(origin, data).entries())
      expect(value).toBeCloseTo(values[origin + k + 1]!, 4)
  })

  it('scales inputs and targets of the training part to mean 0 and deviation 1', () => {
    const { data } = encoder.targets(origins.train)
    const column = data.filter((_, k) => k % shape.horizon === 2)
    const mean = column.reduce((sum, value) => sum + value, 0) / column.length
    const square = column.reduce((sum, value) => sum + value * value, 0) / column.length
    expect(mean).toBeCloseTo(0, 5)
    expect(square).toBeCloseTo(1, 5)
  })

  it('reads nothing after the origin', () => {
    const origin = origins.test[0]!
    const changed = values.slice()
    changed.fill(1e6, origin + 1)
    const other = new WindowEncoder(changed, shape, origins.train)
    expect(other.inputs([origin])).toEqual(encoder.inputs([origin]))
    expect(other.decode(origin, new Float32Array(9))).toEqual(encoder.decode(origin, new Float32Array(9)))
    expect(encoder.inputs([origin]).shape).toEqual([8, 1, encoder.inputSize])
  })
})

it('WindowEncoder leaves a constant series as it is', () => {
  const shape = { window: 4, horizon: 2, season: 1, heldOut: 4 }
  const constant = new Float64Array(30).fill(7)
  const encoder = new WindowEncoder(constant, shape, splitOrigins(30, shape).train)
  expect(encoder.decode(20, [0, 0])).toEqual([7, 7])
})
