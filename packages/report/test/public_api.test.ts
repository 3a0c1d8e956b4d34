import { expect, it } from 'vitest'
import * as report from '../src/index.js'

it('@cudnn-rnn/report exports exactly these names', () => {
  expect(Object.keys(report).sort()).toMatchInlineSnapshot(`
    [
      "TerminalProgress",
      "escapeHtml",
      "gateHistograms",
      "htmlPage",
      "imageChart",
      "lineChart",
      "settingsHtml",
      "tableHtml",
      "tableText",
      "trainingSections",
    ]
  `)
})
