import { expect, it } from 'vitest'
import * as tasks from '../src/index.js'

it('@cudnn-rnn/tasks exports these names', () => {
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
