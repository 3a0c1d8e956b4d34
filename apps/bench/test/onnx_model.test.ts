import { elementCount, gatesOf } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import fixture from '../../../fixtures/onnx_models/models.json' with { type: 'json' }
import { onnxRecurrentModel } from '../src/onnx_model.js'
import type { Workload } from '../src/workload.js'

/** The ramps of fixtures/onnx_models/make.py. */
function layersOf({ cellMode, numLayers, bidirectional, inputSize, numUnits }: Workload) {
  const directions = bidirectional ? 2 : 1
  const rows = gatesOf(cellMode).length * numUnits
  return Array.from({ length: numLayers }, (_, layer) => {
    const shapes = {
      W: [directions, rows, layer === 0 ? inputSize : directions * numUnits],
      R: [directions, rows, numUnits],
      B: [directions, 2 * rows],
    }
    const ramps = Object.entries(shapes).map(([name, shape], index) => {
      const data = Float32Array.from({ length: elementCount(shape) }, (_, k) => layer + index + k / 64)
      return [name, { data, shape }] as const
    })
    return Object.fromEntries(ramps)
  })
}

describe('onnxRecurrentModel', () => {
  it.each(fixture.cases)(
    'writes $cellMode of $numLayers layers, bidirectional $bidirectional, as the onnx package does',
    (expected) => {
      const workload = { ...fixture.sizes, ...expected } as unknown as Workload
      const model = onnxRecurrentModel(workload, layersOf(workload))
      expect(Buffer.from(model).toString('base64')).toBe(expected.model)
    },
  )
})
