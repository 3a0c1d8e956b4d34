import { type CellMode, createRnnDescriptor, flatLayout, type Tensor, unpackCanonical } from '@cudnn-rnn/canonical'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, test } from 'vitest'
import type { FloatTensor } from '../../src/cell/float_tensor.js'
import { CudnnCompatibleGRUCell, CudnnCompatibleLSTMCell, dynamicRnn } from '../../src/index.js'
import { expectClose, float64 } from '../cell_checks.js'
import { FILLS, fill } from '../goldens.js'

const T = 4
const B = 3
const I = 2
const H = 5

/** [ [W_g ‖ R_g] stacked over the gates ]ᵀ: the stitching of TensorFlow's CudnnParamsFormatConverter (v1.15.5). */
function stitch(gates: readonly (readonly Tensor[])[]): FloatTensor {
  const columns = gates.length * H
  const rows = gates[0].reduce((sum, { shape }) => sum + shape[1], 0)
  const data = new Float64Array(rows * columns)
  for (const [g, sides] of gates.entries()) {
    let begin = 0
    for (const { data: weight, shape } of sides) {
      const inner = shape[1]
      for (let u = 0; u < H; u++) {
        for (let j = 0; j < inner; j++) data[(begin + j) * columns + g * H + u] = weight[u * inner + j]
      }
      begin += inner
    }
  }
  return { data, shape: [rows, columns] }
}

function sums(pairs: readonly (readonly [Tensor, Tensor])[]): FloatTensor {
  return float64(
    pairs.flatMap(([a, b]) => Array.from(a.data, (value, k) => value + b.data[k])),
    [pairs.length * H],
  )
}

async function executorRun(cellMode: CellMode) {
  const descriptor = createRnnDescriptor({ cellMode, numLayers: 1, numUnits: H, inputSize: I })
  const backend = openReferenceBackend({ dtype: 'float64' })
  const layout = flatLayout(descriptor)
  const params = Float64Array.from(fill(layout.size, FILLS.weights))
  const input = float64(fill(T * B * I, FILLS.x), [T, B, I])
  const { output } = await backend.rnn(descriptor).forward({
    input,
    inputH: null,
    inputC: null,
    params: { data: params, shape: [layout.size] },
    sequenceLengths: Int32Array.from([4, 1, 3]),
    training: false,
  })
  return { input, expected: (await output.read()).data, ...unpackCanonical(layout, params) }
}

describe('Cudnn-compatible cells on converted canonical weights give the executor’s numbers', () => {
  test('CudnnCompatibleLSTMCell', async () => {
    const { input, expected, weights: w, biases: b } = await executorRun('lstm')
    const order = [0, 2, 1, 3] // canonical i,f,c,o to the kernel's i,c,f,o
    const cell = new CudnnCompatibleLSTMCell(H, { dtype: 'float64' })
    cell.setVariables({
      kernel: stitch(order.map((g) => [w[g], w[g + 4]])),
      bias: sums(order.map((g) => [b[g], b[g + 4]])),
    })
    const { outputs } = dynamicRnn(cell, input, { sequenceLength: [4, 1, 3], timeMajor: true })
    expectClose(outputs.data, expected as Float64Array, 1e-14, 'outputs')
  })

  test('CudnnCompatibleGRUCell', async () => {
    const { input, expected, weights: w, biases: b } = await executorRun('gru')
    const cell = new CudnnCompatibleGRUCell(H, { dtype: 'float64' })
    cell.setVariables({
      'gates/kernel': stitch([0, 1].map((g) => [w[g], w[g + 3]])),
      'gates/bias': sums([0, 1].map((g) => [b[g], b[g + 3]])),
      'candidate/input_projection/kernel': stitch([[w[2]]]),
      'candidate/input_projection/bias': float64(b[2].data, [H]),
      'candidate/hidden_projection/kernel': stitch([[w[5]]]),
      'candidate/hidden_projection/bias': float64(b[5].data, [H]),
    })
    const { outputs } = dynamicRnn(cell, input, { sequenceLength: [4, 1, 3], timeMajor: true })
    expectClose(outputs.data, expected as Float64Array, 1e-14, 'outputs')
  })
})
