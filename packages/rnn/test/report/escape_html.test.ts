import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { escapeHtml, gateHistograms } from '../../src/report/index.js'

it.each([
  ['tags', '<b onclick="x()">', '&lt;b onclick=&quot;x()&quot;&gt;'],
  ['an entity, which is not decoded again', '&lt;', '&amp;lt;'],
  ['controls, which are shown', 'a\u0000\u202eb', 'a\\x00\\u202eb'],
  ['line ends and tabs, which stay', 'a\n\tb', 'a\n\tb'],
  ['half of a symbol', '\ud83d', '\\ud83d'],
  ['nothing', '', ''],
])('escapeHtml of %s', (_, text, expected) => {
  expect(escapeHtml(text)).toBe(expected)
})

it('escapeHtml refuses other values than text', () => {
  for (const value of [undefined, 3, null]) {
    expect(() => escapeHtml(value as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  }
})

it('gateHistograms shows names of layers as text, and takes a gate whose weights are equal or not finite', () => {
  const html = gateHistograms([
    { name: 'layer_0/<i>/input/forget', values: Float32Array.of(2, 2) },
    { name: 'layer_0/<i>/recurrent/forget', values: Float32Array.of(Number.NaN) },
  ])
  expect(html).toContain('<h3>layer 0, &lt;i&gt;</h3>')
  expect(html).not.toMatch(/NaN|Infinity/)
})
