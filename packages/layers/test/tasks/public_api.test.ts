import { expect, it } from 'vitest'
import * as tasks from '../../src/tasks/index.js'

it('@cudnn-rnn/layers/tasks exports these names', () => {
  expect(Object.keys(tasks).sort()).toMatchInlineSnapshot(`
    [
      "ForecasterTraining",
      "createTextClassifier",
      "fillMissing",
      "loadForecaster",
      "loadTextClassifier",
      "seasonOf",
      "trainForecaster",
      "usualShape",
    ]
  `)
})
