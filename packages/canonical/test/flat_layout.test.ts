import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { type CellMode, createRnnDescriptor, type Direction, flatLayout, type RnnOptions } from '../src/index.js'
import { descriptors, RUNS } from './arbitraries.js'

/**
 * cuDNN's sizes and offsets as measured with cudnnGetRNNWeightParams of cuDNN 9.24 and written down in
 * docs/canonical_layout.md: g gates, P = numProj or H, all matrices first, then all biases, nothing between.
 */
function measuredSize({
  cellMode,
  numLayers,
  numUnits: H,
  inputSize,
  ...rest
}: ReturnType<typeof createRnnDescriptor>) {
  const g = { lstm: 4, gru: 3, rnn_relu: 1, rnn_tanh: 1 }[cellMode]
  const D = rest.direction === 'bidirectional' ? 2 : 1
  const P = rest.numProj ?? H
  const biasesPerGate = { double: 2, single_input: 1, single_recurrent: 1, none: 0 }[rest.biasMode]
  let matrices = 0
  for (let layer = 0; layer < numLayers; layer++) {
    const inputs = layer > 0 ? P * D : rest.inputMode === 'skip_input' ? 0 : inputSize
    matrices += D * (g * H * (inputs + P) + (rest.numProj === undefined ? 0 : P * H))
  }
  return { matrices, total: matrices + numLayers * D * g * H * biasesPerGate }
}

describe('flatLayout', () => {
  it("has cuDNN's measured size, matrices first, for every mode, direction, input mode, bias mode and projection", () => {
    fc.assert(
      fc.property(descriptors({ everyInputAndBiasMode: true }), (descriptor) => {
        const layout = flatLayout(descriptor)
        const measured = measuredSize(descriptor)
        expect(layout.size).toBe(measured.total)
        expect(layout.biases[0].offset).toBe(measured.matrices)
      }),
      RUNS,
    )
  })

  it('leaves no gap and no overlap', () => {
    fc.assert(
      fc.property(descriptors({ everyInputAndBiasMode: true }), (descriptor) => {
        const { weights, biases, size } = flatLayout(descriptor)
        const end = [...weights, ...biases].reduce((expected, { offset, size: length }) => {
          expect(offset).toBe(expected)
          return offset + length
        }, 0)
        expect(end).toBe(size)
      }),
      RUNS,
    )
  })

  // params_size on real cuDNN: tensorflow/tensorflow issue 9370; HKUST-KnowComp/R-Net issue 47 (opaque_kernel).
  it.each([
    ['lstm', 'unidirectional', 1, 100, 20, 48_800],
    ['lstm', 'bidirectional', 1, 100, 20, 97_600],
    ['gru', 'unidirectional', 1, 76, 300, 86_184],
    // Sums of TensorFlow's canonical shapes at the sizes of cudnn_rnn_ops_test.py (v1.0.0) and cudnn_rnn_test.py (v1.15.5),
    // with I ≠ H, if auto_select is linear.
    ['lstm', 'unidirectional', 4, 200, 300, 1_366_400],
    ['lstm', 'bidirectional', 4, 200, 300, 3_692_800],
    ['gru', 'unidirectional', 4, 200, 300, 1_024_800],
    ['gru', 'bidirectional', 4, 200, 300, 2_769_600],
    ['rnn_relu', 'unidirectional', 4, 200, 300, 341_600],
    ['rnn_tanh', 'bidirectional', 4, 200, 300, 923_200],
    ['lstm', 'unidirectional', 1, 100, 200, 120_800],
    ['lstm', 'bidirectional', 3, 200, 400, 2_889_600],
    ['gru', 'unidirectional', 2, 200, 100, 422_400],
    ['lstm', 'unidirectional', 4, 200, 200, 1_286_400],
  ] as const)('has the golden size of %s %s, %i layers, %i units, input %i: %i', (...golden) => {
    const [cellMode, direction, numLayers, numUnits, inputSize, size] = golden
    const options: RnnOptions = { cellMode, direction, numLayers, numUnits, inputSize, inputMode: 'linear_input' }
    expect(flatLayout(createRnnDescriptor(options)).size).toBe(size)
  })

  it('refuses 2^31 matrix elements and takes one matrix row less', () => {
    // rnn_tanh: H·(I + H) = 2^15 · 2^16 = 2^31.
    const at = (cellMode: CellMode, numUnits: number, inputSize: number, numLayers = 1) =>
      flatLayout(createRnnDescriptor({ cellMode, numLayers, numUnits, inputSize, inputMode: 'linear_input' }))
    const refusal = coded('ERR_PARAMS_TOO_LARGE', { matrixElements: 2 ** 31 })
    expect(() => at('rnn_tanh', 2 ** 15, 2 ** 15)).toThrow(refusal)
    expect(at('rnn_tanh', 2 ** 15, 2 ** 15 - 1).size).toBe(2 ** 31 - 2 ** 15 + 2 * 2 ** 15)
    expect(() => at('rnn_tanh', 1, 1, 2 ** 31 - 1)).toThrow(coded('ERR_PARAMS_TOO_LARGE'))
  })

  it('refuses more than 2^16 pseudo-layers before it lists them', () => {
    const at = (numLayers: number, direction: Direction) =>
      flatLayout(createRnnDescriptor({ cellMode: 'rnn_tanh', numLayers, numUnits: 1, inputSize: 1, direction }))
    const refusal = coded('ERR_PARAMS_TOO_LARGE', { pseudoLayers: 2 ** 29 })
    expect(() => at(2 ** 29, 'unidirectional')).toThrow(refusal)
    expect(() => at(2 ** 28, 'bidirectional')).toThrow(refusal)
    expect(at(1000, 'unidirectional').weights).toHaveLength(2000)
  })
})
