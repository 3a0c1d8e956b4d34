import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { kerasLayout } from '../../src/frameworks/keras_layout.js'
import { onnxLayout } from '../../src/frameworks/onnx_layout.js'
import { pytorchLayout } from '../../src/frameworks/pytorch_layout.js'
import {
  canonicalToKeras,
  canonicalToOnnx,
  canonicalToPytorch,
  createRnnDescriptor,
  frameworkToCanonical,
  kerasToCanonical,
  type NamedTensors,
  onnxToCanonical,
  pytorchToCanonical,
  tensorflowLayout,
  tensorflowToCanonical,
} from '../../src/index.js'
import { countedCanonical } from '../arbitraries.js'

const lstm = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 2, inputSize: 3 })
const gru = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 2, inputSize: 3 })
const skipping = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 3, inputSize: 3 })
const projected = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 3, inputSize: 2, numProj: 1 })

describe('refusals', () => {
  const stateDict = canonicalToPytorch(lstm, countedCanonical(lstm))
  it.each([
    ['tensorflowLayout', () => tensorflowLayout(skipping)],
    ['pytorchLayout', () => pytorchLayout(skipping)],
    ['kerasLayout', () => kerasLayout(skipping)],
    ['onnxLayout', () => onnxLayout(skipping)],
  ])('%s refuses skip_input, which auto_select may have chosen', (_, build) => {
    expect(build).toThrow(coded('ERR_UNSUPPORTED_BY_FRAMEWORK'))
    expect(build).toThrow(/auto_select skips when inputSize = numUnits/)
  })

  it('pytorchLayout refuses a bias mode other than double', () => {
    const single = createRnnDescriptor({ ...lstm, biasMode: 'single_input' })
    expect(() => pytorchLayout(single)).toThrow(coded('ERR_UNSUPPORTED_BY_FRAMEWORK'))
  })

  it('kerasLayout and onnxLayout refuse a projection', () => {
    expect(() => kerasLayout(projected)).toThrow(coded('ERR_UNSUPPORTED_BY_FRAMEWORK'))
    expect(() => onnxLayout(projected)).toThrow(coded('ERR_UNSUPPORTED_BY_FRAMEWORK'))
  })

  it('kerasLayout refuses a cudnn variant of SimpleRNN, which never existed', () => {
    const plain = createRnnDescriptor({ cellMode: 'rnn_tanh', numLayers: 1, numUnits: 2, inputSize: 3 })
    expect(() => kerasLayout(plain, { variant: 'cudnn' })).toThrow(coded('ERR_UNSUPPORTED_BY_FRAMEWORK'))
  })

  it.each([
    ['CuDNN', 'ERR_INVALID_OPTION'],
    ['', 'ERR_INVALID_OPTION'],
    ['toString', 'ERR_INVALID_OPTION'],
    [null, 'ERR_INVALID_OPTION_TYPE'],
    [true, 'ERR_INVALID_OPTION_TYPE'],
  ])('the variant %j of Keras is refused in both directions and changes no weight', (variant, expected) => {
    const options = { variant: variant as never }
    const layers = canonicalToKeras(lstm, countedCanonical(lstm))
    const before = structuredClone(layers)
    expect(() => kerasLayout(lstm, options)).toThrow(coded(expected))
    expect(() => canonicalToKeras(lstm, countedCanonical(lstm), options)).toThrow(coded(expected))
    expect(() => kerasToCanonical(lstm, layers, options)).toThrow(coded(expected))
    expect(() => kerasLayout(lstm, options)).toThrow(/variant must be one of plain, cudnn/)
    expect(layers).toEqual(before)
  })

  it('kerasToCanonical refuses an unknown variant of a GRU before it reads the biases', () => {
    const [layer] = canonicalToKeras(gru, countedCanonical(gru), { variant: 'cudnn' })
    expect(() => kerasToCanonical(gru, [layer], { variant: 'CuDNNGRU' as never })).toThrow(coded('ERR_INVALID_OPTION'))
  })

  it.each(['false', 0, null])('kerasToCanonical refuses %j as resetAfter, which is a boolean', (resetAfter) => {
    const layers = canonicalToKeras(gru, countedCanonical(gru))
    const options = { resetAfter: resetAfter as never }
    expect(() => kerasToCanonical(gru, layers, options)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })

  it('kerasToCanonical refuses a GRU with reset_after false, said so or betrayed by its bias [3H]', () => {
    const [layer] = canonicalToKeras(gru, countedCanonical(gru))
    const before = { ...layer, bias: { data: new Float64Array(6), shape: [6] } }
    expect(() => kerasToCanonical(gru, [layer], { resetAfter: false })).toThrow(coded('ERR_GRU_RESET_BEFORE'))
    expect(() => kerasToCanonical(gru, [before])).toThrow(coded('ERR_GRU_RESET_BEFORE'))
    expect(() => kerasToCanonical(gru, [before])).toThrow(/is another function/)
  })

  it("onnxToCanonical refuses a GRU with linear_before_reset 0, which is ONNX's default", () => {
    const nodes = canonicalToOnnx(gru, countedCanonical(gru))
    expect(() => onnxToCanonical(gru, nodes)).toThrow(coded('ERR_GRU_RESET_BEFORE'))
    expect(() => onnxToCanonical(gru, nodes, { linearBeforeReset: 0 })).toThrow(coded('ERR_GRU_RESET_BEFORE'))
  })

  it.each(['candidate/kernel', 'w_c'])(
    'tensorflowToCanonical refuses the variable %s of a reset-before cell',
    (name) => {
      const cell = { [name]: { data: new Float64Array(10), shape: [5, 2] } }
      expect(() => tensorflowToCanonical(gru, [cell])).toThrow(coded('ERR_GRU_RESET_BEFORE'))
    },
  )

  it('frameworkToCanonical refuses a wrong number of records', () => {
    expect(() => onnxToCanonical(lstm, [])).toThrow(coded('ERR_TENSOR_GROUPS'))
    expect(() => onnxToCanonical(lstm, undefined as never)).toThrow(coded('ERR_TENSOR_GROUPS'))
  })

  it('frameworkToCanonical refuses unknown and missing tensors, also one bias of two', () => {
    const { bias_hh_l0: _, ...oneBias } = stateDict
    const { weight_hh_l0: __, ...noRecurrent } = stateDict
    const extra = { ...stateDict, weight_hr_l0: stateDict['weight_ih_l0'] }
    expect(() => pytorchToCanonical(lstm, oneBias)).toThrow(coded('ERR_MISSING_TENSOR'))
    expect(() => pytorchToCanonical(lstm, noRecurrent)).toThrow(coded('ERR_MISSING_TENSOR'))
    expect(() => pytorchToCanonical(lstm, extra)).toThrow(coded('ERR_UNKNOWN_TENSOR'))
    expect(() => pytorchToCanonical(lstm, {})).toThrow(coded('ERR_MISSING_TENSOR'))
  })

  it('frameworkToCanonical refuses transposed shapes, short data, mixed and integer element types', () => {
    const replaced = (tensor: unknown) => ({ ...stateDict, weight_ih_l0: tensor }) as NamedTensors<Float64Array>
    const { data } = stateDict['weight_ih_l0']
    const short = { data: data.slice(1), shape: [8, 3] }
    expect(() => pytorchToCanonical(lstm, replaced({ data, shape: [3, 8] }))).toThrow(coded('ERR_TENSOR_SHAPE'))
    expect(() => pytorchToCanonical(lstm, replaced(short))).toThrow(coded('ERR_TENSOR_SHAPE'))
    const misshapen = { data, shape: new SharedArrayBuffer(8) as never }
    expect(() => pytorchToCanonical(lstm, replaced(misshapen))).toThrow(coded('ERR_TENSOR_SHAPE'))
    const mixed = { ...stateDict, bias_hh_l0: { data: new Float32Array(8), shape: [8] } } as never
    expect(() => pytorchToCanonical(lstm, mixed)).toThrow(coded('ERR_TENSOR_DTYPE'))
    expect(() => pytorchToCanonical(lstm, replaced({ data: [1], shape: [8, 3] }))).toThrow(coded('ERR_TENSOR_DTYPE'))
    expect(() => pytorchToCanonical(lstm, replaced(null))).toThrow(coded('ERR_TENSOR_DTYPE'))
  })

  it('frameworkToCanonical refuses layouts whose placements are missing or outside of their tensors', () => {
    const { framework, groups } = pytorchLayout(lstm)
    const [group] = groups
    const [first, ...rest] = group.weights
    const convert = (weights: readonly unknown[]) =>
      frameworkToCanonical(lstm, { framework, groups: [{ ...group, weights: weights as never }] }, [stateDict])
    expect(() => convert(group.weights)).not.toThrow()
    for (const weights of [
      new Array(3),
      [{ ...first, tensor: 'toString' }, ...rest],
      [{ ...first, rows: 1e9 }, ...rest],
      [{ ...first, rowStride: 0 }, ...rest],
    ]) {
      expect(() => convert(weights)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
    }
  })

  it('canonicalToFramework refuses canonical tensors of another network', () => {
    expect(() => canonicalToPytorch(lstm, countedCanonical(gru))).toThrow(coded('ERR_CANONICAL_COUNT'))
  })
})

describe('layouts of networks that are too large', () => {
  const huge = createRnnDescriptor({
    cellMode: 'rnn_tanh',
    numLayers: 1,
    numUnits: 2 ** 31 - 1,
    inputSize: 2 ** 31 - 1,
    inputMode: 'linear_input',
  })

  it.each([
    ['pytorch', pytorchLayout],
    ['keras', kerasLayout],
    ['onnx', onnxLayout],
    ['tensorflow', tensorflowLayout],
  ] as const)('%s: the network is refused, as its offsets are not exact numbers', (_, layoutOf) => {
    expect(() => layoutOf(huge)).toThrow(coded('ERR_PARAMS_TOO_LARGE'))
  })
})
