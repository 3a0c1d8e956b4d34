import { expect, it } from 'vitest'
import * as models from '../src/index.js'

it('@cudnn-rnn/models exports exactly these names', () => {
  expect(Object.keys(models).sort()).toMatchInlineSnapshot(`
    [
      "CudnnGRU",
      "CudnnLSTM",
      "CudnnRNNRelu",
      "CudnnRNNTanh",
      "Variable",
      "openWorkerPool",
      "serveStreams",
      "streamPoolOf",
    ]
  `)
})
