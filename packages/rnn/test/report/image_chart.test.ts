import { expect, it } from 'vitest'
import { imageChart } from '../../src/report/index.js'

const OPTIONS = {
  title: 'Levels of "a" & b',
  source: 'data:image/png;base64,AAAA',
  x: { label: 'time in s', from: 0, to: 12 },
  y: { label: 'frequency in kHz', from: 0, to: 8 },
  key: { label: 'level in dB', from: -80, to: 0, colors: ['#000', '#808', '#ff0'] },
} as const

it('imageChart draws the image once, between the axes', () => {
  const html = imageChart(OPTIONS)
  const [image] = html.match(/<image [^>]*>/g)!
  expect(html.match(/<image /g)).toHaveLength(1)
  expect(image).toContain('data:image/png;base64,AAAA')
  // The frame of the axes: x 64 to 836, y 32 to 252.
  expect(image).toMatch(/width="772"/)
  expect(image).toMatch(/height="220"/)
})

it('imageChart labels both axes and the key, with ticks from edge to edge', () => {
  const html = imageChart(OPTIONS)
  for (const text of ['time in s', 'frequency in kHz', 'level in dB', '>0<', '>12<', '>8<', '>−80<'])
    expect(html).toContain(text)
})

it('imageChart shows every color of the key', () => {
  const html = imageChart(OPTIONS)
  for (const color of OPTIONS.key.colors) expect(html).toContain(`fill="${color}"`)
})

it('imageChart has a text alternative', () => {
  expect(imageChart(OPTIONS)).toContain('aria-label="Levels of &quot;a&quot; &amp; b"')
})
