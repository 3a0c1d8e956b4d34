import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { gateHistograms } from '../../src/report/index.js'

const drawn = (gates: Parameters<typeof gateHistograms>[0]) => parseHTML(gateHistograms(gates)).document
const texts = (elements: Iterable<Element>) => [...elements].map(({ textContent }) => textContent)
const gate = (name: string, ...values: readonly number[]) => ({ name, values: Float64Array.from(values) })

describe('gateHistograms', () => {
  it('draws a chart for each layer and direction, for wide and for narrow screens', () => {
    const document = drawn([
      gate('layer_0/forward/input/reset', 1, 2),
      gate('layer_0/backward/input/reset', 1, 2),
      gate('layer_0/forward/recurrent/reset', 1, 2),
      gate('layer_1/forward/input/reset', 1, 2),
    ])
    expect(texts(document.querySelectorAll('h3'))).toEqual([
      'layer 0, forward',
      'layer 0, backward',
      'layer 1, forward',
    ])
    expect(document.querySelectorAll('svg.wide')).toHaveLength(3)
    expect(document.querySelectorAll('svg.narrow')).toHaveLength(3)
  })

  it('names the sides that there are', () => {
    const legendOf = (...names: readonly string[]) =>
      texts(drawn(names.map((name) => gate(name, 1, 2))).querySelectorAll('.legend span'))
    expect(legendOf('layer_0/forward/input/reset')).toEqual(['input side'])
    // In one order, for any order of the gates.
    expect(
      legendOf('layer_0/forward/projection', 'layer_0/forward/recurrent/input', 'layer_0/forward/input/input'),
    ).toEqual(['input side', 'recurrent side', 'projection side'])
  })

  it('has a part for each gate, in the words of people, and one for a projection', () => {
    const [chart] = drawn([
      gate('layer_0/forward/input/new_memory', 1, 2),
      gate('layer_0/forward/projection', 1, 2),
    ]).querySelectorAll('svg.wide')
    expect(chart?.textContent).toContain('new memory')
    expect(chart?.textContent).toContain('projection')
    expect(chart?.textContent).not.toContain('_')
  })

  it('draws bars as high as their share of the weights', () => {
    // 3 of 4 weights are in the first of 30 buckets, one in the last.
    const [chart] = drawn([gate('layer_0/forward/input/reset', 0, 0, 0, 30)]).querySelectorAll('svg.wide')
    const heights = [...(chart?.querySelectorAll('rect') ?? [])]
      .map((bar) => Number(bar.getAttribute('height')))
      .filter((height) => height > 0)
    expect(heights).toHaveLength(2)
    expect(heights[0]! / heights[1]!).toBeCloseTo(3, 6)
  })

  it('has the same horizontal axis in all charts, with 0 on it', () => {
    const document = drawn([gate('layer_0/forward/input/reset', 2, 4), gate('layer_1/forward/input/reset', -8, -6)])
    const ticks = [...document.querySelectorAll('svg.wide')].map((chart) =>
      texts(chart.querySelectorAll('[aria-label="x-axis tick label"] text')),
    )
    expect(ticks[0]).toEqual(ticks[1])
    expect(ticks[0]).toContain('0')
  })

  it('is a legend alone without gates', () => {
    const document = drawn([])
    expect(document.querySelectorAll('svg')).toHaveLength(0)
    expect(document.querySelectorAll('.legend span')).toHaveLength(0)
  })

  it.each([undefined, 'gates', [{ name: 'layer_0' }], [{ name: 1, values: [1] }], [{ name: 'a', values: '1' }]])(
    'refuses %j',
    (gates) => {
      expect(() => gateHistograms(gates as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    },
  )
})
