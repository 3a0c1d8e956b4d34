import { expect, it } from 'vitest'
import * as api from '../src/index.js'

it('@cudnn-rnn/canonical exports these names', () => {
  expect(Object.keys(api).sort()).toMatchInlineSnapshot(`
    [
      "BIAS_MODES",
      "CELL_MODES",
      "DIRECTIONS",
      "GATE_ORDERS",
      "INPUT_MODES",
      "canonicalToFramework",
      "canonicalToKeras",
      "canonicalToOnnx",
      "canonicalToPytorch",
      "canonicalToTensorflow",
      "checkCanonical",
      "checkOptionNames",
      "codedRangeError",
      "codedTypeError",
      "createRnnDescriptor",
      "elementCount",
      "flatLayout",
      "frameworkToCanonical",
      "gatePosition",
      "gatesOf",
      "hasErrorCode",
      "hiddenColumns",
      "kerasLayout",
      "kerasToCanonical",
      "layerInputSize",
      "layoutKey",
      "numDirections",
      "numGates",
      "numPseudoLayers",
      "onnxLayout",
      "onnxToCanonical",
      "outputSize",
      "packCanonical",
      "paramRegions",
      "pytorchLayout",
      "pytorchToCanonical",
      "tensorflowLayout",
      "tensorflowToCanonical",
      "unpackCanonical",
    ]
  `)
})
