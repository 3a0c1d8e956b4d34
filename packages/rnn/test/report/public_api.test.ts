import { expect, it } from 'vitest'
import * as report from '../../src/report/index.js'

it('@cudnn-rnn/rnn/report exports exactly these names', () => {
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
