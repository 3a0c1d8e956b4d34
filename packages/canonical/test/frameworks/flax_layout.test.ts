import { describe, expect, it } from 'vitest'
import {
  type CanonicalParams,
  CELL_MODES,
  type CellMode,
  canonicalToFlax,
  createRnnDescriptor,
  flatLayout,
  flaxToCanonical,
  unpackCanonical,
} from '../../src/index.js'
import { flaxLayout } from '../../src/frameworks/flax_layout.js'

const MODES = Object.keys(CELL_MODES) as CellMode[]

describe.each(MODES)('flaxLayout of %s', (cellMode) => {
  const descriptor = createRnnDescriptor({
    cellMode,
    numLayers: 2,
    numUnits: 3,
    inputSize: 2,
    inputMode: 'linear_input',
    direction: 'bidirectional',
  })
  const layout = flatLayout(descriptor)
  const canonical = unpackCanonical(
    layout,
    Float64Array.from({ length: layout.size }, (_, k) => k / 8),
  ) as CanonicalParams<Float64Array>

  it('transposes every matrix', () => {
    const [cell] = canonicalToFlax(descriptor, canonical)
    const [name] = Object.keys(flaxLayout(descriptor).groups[0].shapes)
    const [weight] = canonical.weights
    const stored = cell[name]
    expect(stored.shape).toEqual([2, 3])
    expect(stored.data[1]).toBe(weight.data[2])
  })

  it('is restored with the same weights and sums of biases', () => {
    const again = flaxToCanonical(descriptor, canonicalToFlax(descriptor, canonical))
    expect(again.weights).toEqual(canonical.weights)
    const twice = flaxToCanonical(descriptor, canonicalToFlax(descriptor, again))
    expect(twice).toEqual(again)
    const total = ({ biases }: CanonicalParams) => biases.flatMap(({ data }) => [...data]).reduce((a, b) => a + b, 0)
    expect(total(again)).toBe(total(canonical))
  })
})
