import { expect, it } from 'vitest'
import * as saveable from '../src/index.js'

it('@cudnn-rnn/saveable exports exactly these names', () => {
  expect(Object.keys(saveable).sort()).toMatchInlineSnapshot(`
    [
      "CudnnGRUSaveable",
      "CudnnLSTMSaveable",
      "CudnnParamsFormatConverterGRU",
      "CudnnParamsFormatConverterLSTM",
      "CudnnParamsFormatConverterRelu",
      "CudnnParamsFormatConverterTanh",
      "CudnnRNNReluSaveable",
      "CudnnRNNTanhSaveable",
      "RNNParamsSaveable",
      "RestoreError",
      "Saver",
      "TensorSaveable",
      "convertCheckpoint",
      "detectNetworks",
      "detectedToCanonical",
    ]
  `)
})
