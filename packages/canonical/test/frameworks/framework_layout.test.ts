import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type CanonicalParams,
  canonicalToKeras,
  canonicalToOnnx,
  canonicalToPytorch,
  canonicalToTensorflow,
  createRnnDescriptor,
  kerasToCanonical,
  type NamedTensors,
  onnxToCanonical,
  pytorchToCanonical,
  tensorflowLayout,
  tensorflowToCanonical,
} from '../../src/index.js'
import { canonicalFilled, countedCanonical, descriptors, RUNS } from '../arbitraries.js'

const lstm = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 2, inputSize: 3 })
const gru = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 2, inputSize: 3 })
const projected = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 3, inputSize: 2, numProj: 1 })

/** Both biases of every gate replaced by half of their sum, as in frameworks that keep one bias. */
function withHalvedSums(canonical: CanonicalParams<Float64Array>, gates: number): CanonicalParams<Float64Array> {
  const biases = canonical.biases.map(({ data, shape }, index) => {
    const partner = canonical.biases[Math.floor(index / gates) % 2 === 0 ? index + gates : index - gates]
    return { data: data.map((value, unit) => (value + partner.data[unit]) / 2), shape }
  })
  return { weights: canonical.weights, biases }
}

describe('inverse pairs', () => {
  it('pytorchToCanonical undoes canonicalToPytorch bit for bit', () => {
    fc.assert(
      fc.property(descriptors(), (descriptor) => {
        const canonical = countedCanonical(descriptor)
        expect(pytorchToCanonical(descriptor, canonicalToPytorch(descriptor, canonical))).toEqual(canonical)
      }),
      RUNS,
    )
  })

  it('onnxToCanonical undoes canonicalToOnnx bit for bit', () => {
    fc.assert(
      fc.property(descriptors({ projection: false }), (descriptor) => {
        const canonical = countedCanonical(descriptor)
        const nodes = canonicalToOnnx(descriptor, canonical)
        expect(onnxToCanonical(descriptor, nodes, { linearBeforeReset: 1 })).toEqual(canonical)
      }),
      RUNS,
    )
  })

  it('kerasToCanonical undoes canonicalToKeras bit for bit where Keras keeps both biases', () => {
    const cudnn = descriptors({ cellModes: ['lstm', 'gru'], projection: false })
    fc.assert(
      fc.property(cudnn, (descriptor) => {
        const canonical = countedCanonical(descriptor)
        const layers = canonicalToKeras(descriptor, canonical, { variant: 'cudnn' })
        expect(kerasToCanonical(descriptor, layers, { variant: 'cudnn' })).toEqual(canonical)
      }),
      RUNS,
    )
    fc.assert(
      fc.property(descriptors({ cellModes: ['gru'] }), (descriptor) => {
        const canonical = countedCanonical(descriptor)
        expect(kerasToCanonical(descriptor, canonicalToKeras(descriptor, canonical))).toEqual(canonical)
      }),
      RUNS,
    )
  })

  it('kerasToCanonical undoes canonicalToKeras up to halves of summed biases for LSTM and SimpleRNN', () => {
    const oneBias = descriptors({ cellModes: ['lstm', 'rnn_relu', 'rnn_tanh'], projection: false })
    fc.assert(
      fc.property(oneBias, (descriptor) => {
        const canonical = countedCanonical(descriptor)
        const restored = kerasToCanonical(descriptor, canonicalToKeras(descriptor, canonical))
        expect(restored).toEqual(withHalvedSums(canonical, descriptor.cellMode === 'lstm' ? 4 : 1))
      }),
      RUNS,
    )
  })

  it('tensorflowToCanonical undoes canonicalToTensorflow up to halves of summed biases', () => {
    fc.assert(
      fc.property(descriptors({ cellModes: ['lstm', 'rnn_relu', 'rnn_tanh'] }), (descriptor) => {
        const canonical = countedCanonical(descriptor)
        const restored = tensorflowToCanonical(descriptor, canonicalToTensorflow(descriptor, canonical))
        expect(restored).toEqual(withHalvedSums(canonical, descriptor.cellMode === 'lstm' ? 4 : 1))
      }),
      RUNS,
    )
  })

  it('tensorflowToCanonical halves the gate biases of a GRU and keeps both of the candidate', () => {
    fc.assert(
      fc.property(descriptors({ cellModes: ['gru'] }), (descriptor) => {
        const canonical = countedCanonical(descriptor)
        const restored = tensorflowToCanonical(descriptor, canonicalToTensorflow(descriptor, canonical))
        const halved = withHalvedSums(canonical, 3).biases
        expect(restored.weights).toEqual(canonical.weights)
        expect(restored.biases).toEqual(halved.map((half, index) => (index % 3 === 2 ? canonical.biases[index] : half)))
      }),
      RUNS,
    )
  })

  it('canonicalToTensorflow undoes tensorflowToCanonical bit for bit', () => {
    fc.assert(
      fc.property(descriptors(), (descriptor) => {
        const cells = canonicalToTensorflow(descriptor, countedCanonical(descriptor))
        expect(canonicalToTensorflow(descriptor, tensorflowToCanonical(descriptor, cells))).toEqual(cells)
      }),
      RUNS,
    )
  })

  it('every conversion keeps float32 tensors float32', () => {
    const canonical = canonicalFilled(lstm, (length) => new Float32Array(length))
    expect(canonicalToPytorch(lstm, canonical)['weight_ih_l0'].data).toBeInstanceOf(Float32Array)
    const restored = pytorchToCanonical(lstm, canonicalToPytorch(lstm, canonical))
    expect(restored).toEqual(canonical)
  })

  it('every conversion keeps negative zeros', () => {
    const canonical = countedCanonical(gru)
    canonical.weights[0].data[0] = -0
    canonical.biases[0].data[0] = -0
    expect(pytorchToCanonical(gru, canonicalToPytorch(gru, canonical))).toEqual(canonical)
  })
})

describe('layouts', () => {
  it('tensorflowLayout has the shapes of CudnnCompatibleGRUCell (TensorFlow 1.15, converter GRU)', () => {
    expect(tensorflowLayout(gru).groups[0].shapes).toEqual({
      'gates/kernel': [5, 4],
      'gates/bias': [4],
      'candidate/input_projection/kernel': [3, 2],
      'candidate/input_projection/bias': [2],
      'candidate/hidden_projection/kernel': [2, 2],
      'candidate/hidden_projection/bias': [2],
    })
  })

  it('canonicalToTensorflow puts reset before update in a GRU, x rows above h rows', () => {
    const one = createRnnDescriptor({
      cellMode: 'gru',
      numLayers: 1,
      numUnits: 1,
      inputSize: 1,
      inputMode: 'linear_input',
    })
    // Canonical weights 1..6: W_r, W_u, W_n, R_r, R_u, R_n; biases 7..12 in the same order.
    const [cell] = canonicalToTensorflow(one, countedCanonical(one))
    const values = Object.fromEntries(Object.entries(cell).map(([name, { data }]) => [name, [...data]]))
    expect(values).toEqual({
      'gates/kernel': [1, 2, 4, 5],
      'gates/bias': [7 + 10, 8 + 11],
      'candidate/input_projection/kernel': [3],
      'candidate/input_projection/bias': [9],
      'candidate/hidden_projection/kernel': [6],
      'candidate/hidden_projection/bias': [12],
    })
  })

  it('tensorflowLayout transposes the projection to [H,P]', () => {
    const [cell] = canonicalToTensorflow(projected, countedCanonical(projected))
    expect(cell['projection/kernel'].shape).toEqual([3, 1])
    expect(cell['kernel'].shape).toEqual([3, 12])
  })

  it('kerasToCanonical reads CuDNNLSTM kernels as Keras converts them to LSTM (saving.py: kernel.T.reshape(order F))', () => {
    const [H, I] = [2, 3]
    const kernel = Float64Array.from({ length: I * 4 * H }, (_, index) => index)
    const recurrent = Float64Array.from({ length: H * 4 * H }, (_, index) => 100 + index)
    const layer: NamedTensors<Float64Array> = {
      kernel: { data: kernel, shape: [I, 4 * H] },
      recurrent_kernel: { data: recurrent, shape: [H, 4 * H] },
      bias: { data: Float64Array.from({ length: 16 }, (_, index) => index), shape: [16] },
    }
    const { weights, biases } = kerasToCanonical(lstm, [layer], { variant: 'cudnn' })
    // numpy: np.hsplit(np.arange(24.).reshape(3, 8), 4)[1].T.reshape((3, 2), order='F').T, the forget gate's [H,I].
    expect(weights[1]).toEqual({ data: Float64Array.of(2, 3, 10, 11, 18, 19), shape: [2, 3] })
    // numpy: np.hsplit(100 + np.arange(16.).reshape(2, 8), 4)[1].T.T
    expect(weights[5]).toEqual({ data: Float64Array.of(102, 103, 110, 111), shape: [2, 2] })
    expect(biases.map(({ data }) => data[0])).toEqual([0, 2, 4, 6, 8, 10, 12, 14])
  })

  it('kerasToCanonical, pytorchToCanonical and onnxToCanonical take a network without biases as one with zero biases', () => {
    const { bias_ih_l0: _, bias_hh_l0: __, ...stateDict } = canonicalToPytorch(lstm, countedCanonical(lstm))
    const { weights, biases } = pytorchToCanonical(lstm, stateDict)
    expect(weights).toEqual(countedCanonical(lstm).weights)
    expect(biases.every(({ data, shape }) => shape[0] === 2 && data.every((value) => value === 0))).toBe(true)
  })
})
