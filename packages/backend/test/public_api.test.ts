import { expect, it } from 'vitest'
import * as api from '../src/index.js'

it('@cudnn-rnn/backend exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "BackendUnavailableError",
      "DTYPES",
      "Ledger",
      "MAX_TIME_STEPS",
      "OpenTape",
      "Philox",
      "checkBackwardArguments",
      "checkForwardArguments",
      "checkHyperparameter",
      "checkIdValues",
      "checkIds",
      "checkIsHostTensor",
      "checkIsTensor",
      "checkLinear",
      "checkOwnTape",
      "checkSequenceLengths",
      "checkShape",
      "checkSoftmaxCrossEntropy",
      "checkTensor",
      "checkUpdate",
      "completeAdagrad",
      "completeAdam",
      "completeMomentum",
      "completeRmsProp",
      "dtypeOf",
      "isBackendTensor",
      "isBackendUnavailableError",
      "philoxBlock",
      "tensorDType",
    ]
  `)
})
