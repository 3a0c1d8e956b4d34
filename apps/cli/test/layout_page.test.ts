import { createRnnDescriptor, flatLayout } from '@cudnn-rnn/rnn/canonical'
import { parseHTML } from 'linkedom'
import { describe, expect, it } from 'vitest'
import { layoutPage } from '../src/layout_page.js'

const SIZES = { numLayers: 2, numUnits: 8, inputSize: 8 } as const

describe('layoutPage', () => {
  it.each([
    ['bidirectional lstm', createRnnDescriptor({ ...SIZES, cellMode: 'lstm', direction: 'bidirectional' })],
    ['lstm with a projection', createRnnDescriptor({ ...SIZES, cellMode: 'lstm', numProj: 4 })],
    ['gru', createRnnDescriptor({ ...SIZES, cellMode: 'gru' })],
    ['skip_input', createRnnDescriptor({ ...SIZES, cellMode: 'rnn_tanh', inputMode: 'skip_input' })],
  ])('draws every region of the buffer and a tile for each, with its offset and shape: %s', (_, descriptor) => {
    const { document } = parseHTML(layoutPage(descriptor))
    const { weights, biases } = flatLayout(descriptor)
    const regions = [...weights, ...biases].filter(({ size }) => size > 0)
    expect(document.querySelectorAll('.tile')).toHaveLength(regions.length)
    for (const [index, { offset, shape }] of regions.entries()) {
      const [title] = document.querySelectorAll(`rect[data-region="${index}"] title`)
      expect(title?.textContent).toContain(`shape [${shape.join(',')}], offset ${offset.toLocaleString('en-US')},`)
    }
  })

  it('draws to scale: the rectangles cover the whole buffer', () => {
    const descriptor = createRnnDescriptor({ ...SIZES, cellMode: 'gru' })
    const { document } = parseHTML(layoutPage(descriptor))
    const widths = [...document.querySelectorAll('rect[data-region]')].map((rect) => Number(rect.getAttribute('width')))
    // Twelve lines of 1000; the last one may be short by less than a dozen elements.
    const covered = widths.reduce((sum, width) => sum + width, 0) / 12_000
    expect(covered).toBeGreaterThan(0.98)
    expect(covered).toBeLessThan(1.001)
  })
})
