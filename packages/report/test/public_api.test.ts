import { expect, it } from 'vitest'
import * as report from '../src/index.js'

it('@cudnn-rnn/report exports exactly these names', () => {
  expect(Object.keys(report).sort()).toMatchInlineSnapshot(`
    [
      "TerminalProgress",
      "escapeHtml",
      "gateHistograms",
      "htmlPage",
      "lineChart",
      "settingsHtml",
      "tableHtml",
      "tableText",
      "trainingSections",
    ]
  `)
})
