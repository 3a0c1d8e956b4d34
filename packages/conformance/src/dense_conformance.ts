import { type Backend, type BackendTensor, DTYPES } from '@cudnn-rnn/ops'
import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import fixture from '../../../fixtures/rnn/pytorch_dense.json'
import { coded } from '../../../scripts/testing/coded.mjs'
import { expectAllclose } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { filled } from './fills.js'
import { decodeFloat64 } from './fixture_case.js'

const { rows, inputs, outputs, vocabulary, steps } = fixture.sizes
const LEARNING_RATE = 0.05
const int32 = (values: readonly number[], shape: readonly number[] = [values.length]): Tensor<Int32Array> => ({
  data: Int32Array.from(values),
  shape,
})

/** The dense operations against PyTorch: fixtures/rnn/make_pytorch_dense.py. */
export function registerDenseConformance({ open, dtype, tolerance, extent }: ExecutorUnderTest): void {
  const make = (name: Parameters<typeof filled>[0], shape: readonly number[], scale = 1) =>
    filled(name, shape, dtype, { scale })
  const expectTensor = async (name: string, tensor: BackendTensor, expected: string) =>
    expectAllclose(name, (await tensor.read()).data, decodeFloat64(expected), tolerance)

  describe('dense operations agree with PyTorch', () => {
    test('linear, over any leading dimensions', async () => {
      using backend = await open()
      const kernel = make('weights', [inputs, outputs])
      for (const leading of [[rows], [2, rows / 2]]) {
        const x = make('x', [...leading, inputs])
        const y = backend.ops.linear(x, kernel, make('biases', [outputs]))
        expect(y.shape).toEqual([...leading, outputs])
        await expectTensor('y', y, fixture.linear.y)
        const gradients = backend.ops.linearGradients(x, kernel, make('dOutput', [...leading, outputs]))
        expect(gradients.input.shape).toEqual([...leading, inputs])
        await expectTensor('∂x', gradients.input, fixture.linear.gradInput)
        await expectTensor('∂kernel', gradients.kernel, fixture.linear.gradKernel)
        await expectTensor('∂bias', gradients.bias, fixture.linear.gradBias)
      }
    })

    test('embedding, repeated ids added up', async () => {
      using backend = await open()
      const { ids, rows: expected, gradTable } = fixture.embedding
      const found = backend.ops.embedding(make('weights', [vocabulary, inputs]), int32(ids, [2, 3]))
      expect(found.shape).toEqual([2, 3, inputs])
      await expectTensor('rows', found, expected)
      const gradient = backend.ops.embeddingGradient(vocabulary, int32(ids), make('dOutput', [ids.length, inputs]))
      await expectTensor('∂table', gradient, gradTable)
    })

    test.each(fixture.crossEntropy)(
      'softmaxCrossEntropy with weights $weights',
      async ({ labels, weights, loss, gradLogits }) => {
        using backend = await open()
        const logits = make('x', [rows, outputs], 10)
        const rowWeights = weights && { data: make('x', [rows]).data.map((_, row) => weights[row]), shape: [rows] }
        const result = backend.ops.softmaxCrossEntropy(logits, int32(labels), rowWeights ?? undefined)
        expect(result.loss.shape).toEqual([])
        expectAllclose('loss', (await result.loss.read()).data, [loss], tolerance)
        await expectTensor('∂logits', result.logitsGradient, gradLogits)
      },
    )

    test('softmaxCrossEntropy is stable (Effective TensorFlow: labels [.5, .5], logits [1000, 0] give 500 and [.5, -.5])', async () => {
      using backend = await open()
      // Labels of .5 and .5 are the mean over one row for each class.
      const logits = { data: make('x', [4]).data.map((_, index) => (index % 2 === 0 ? 1000 : 0)), shape: [2, 2] }
      const { loss, logitsGradient } = backend.ops.softmaxCrossEntropy(logits, int32([0, 1]))
      expect([...(await loss.read()).data]).toEqual([500])
      const [a0, a1, b0, b1] = (await logitsGradient.read()).data
      expect([a0 + b0, a1 + b1]).toEqual([0.5, -0.5])
    })

    test('softmaxCrossEntropy leaves rows of weight 0 out for any logits', async () => {
      using backend = await open()
      const data = make('x', [2, 3]).data
      const alone = backend.ops.softmaxCrossEntropy({ data: data.slice(0, 3), shape: [1, 3] }, int32([2]))
      const weights = { data: make('x', [2]).data.map((_, row) => 1 - row), shape: [2] }
      data[4] = Number.NaN
      const masked = backend.ops.softmaxCrossEntropy({ data, shape: [2, 3] }, int32([2, 0]), weights)
      expect((await masked.loss.read()).data).toEqual((await alone.loss.read()).data)
      const gradient = [...(await alone.logitsGradient.read()).data]
      expect([...(await masked.logitsGradient.read()).data]).toEqual([...gradient, 0, 0, 0])
    })

    // 3,000 operations, each of which waits for the one before it.
    if (extent === 'all') {
      test('adam fits 5x² + 3 (Effective TensorFlow: 100 points in [-10, 10], rate 0.1, 1000 steps)', async () => {
        using backend = await open()
        const points = 100
        const xs = Array.from({ length: points }, (_, n) => -10 + (20 * n) / (points - 1))
        const features = {
          data: make('x', [points, 3]).data.map((_, k) => xs[Math.floor(k / 3)] ** (2 - (k % 3))),
          shape: [points, 3],
        }
        const kernel = backend.tensor(make('weights', [3, 1]))
        const [first, second, bias] = [backend.zeros([3, 1]), backend.zeros([3, 1]), backend.zeros([1])]
        for (let step = 1; step <= 1000; step++) {
          const y = await backend.ops.linear(features, kernel, bias).read()
          const error = y.data.map((value, n) => (2 * (value - (5 * xs[n] ** 2 + 3))) / points)
          const gradient = backend.ops.linearGradients(features, kernel, { data: error, shape: [points, 1] })
          backend.ops.update('adam', kernel, [first, second], gradient.kernel, { learningRate: 0.1, step })
        }
        const [square, linear, constant] = (await kernel.read()).data
        // 1000 steps of this rate come close, not all the way: the square dominates and the constant follows slowly.
        expect(Math.abs(square - 5)).toBeLessThan(0.01)
        expect(Math.abs(linear)).toBeLessThan(0.01)
        expect(Math.abs(constant - 3)).toBeLessThan(0.5)
      })
    }

    test.each(Object.entries(fixture.optimizers))(`%s over ${steps} steps`, async (name, expected) => {
      using backend = await open()
      const shape = [inputs, outputs]
      const variable = backend.tensor(make('weights', shape))
      const [first, second] = [backend.zeros(shape), backend.zeros(shape)]
      for (let step = 0; step < steps; step++) {
        update(backend, name, variable, first, second, make('dOutput', shape, 1 + 0.25 * step), step + 1)
      }
      await expectTensor(name, variable, expected)
    })

    test('globalNorm and clipByGlobalNorm', async () => {
      using backend = await open()
      const { norm, maxNorm, a, b } = fixture.clip
      const tensors = [backend.tensor(make('x', [rows, inputs])), backend.tensor(make('weights', [outputs]))]
      expectAllclose('norm', (await backend.ops.globalNorm(tensors).read()).data, [norm], tolerance)
      expectAllclose('norm', (await backend.ops.clipByGlobalNorm(tensors, maxNorm).read()).data, [norm], tolerance)
      // PyTorch adds 1e-6 to the norm it divides by.
      const scale = 1 + 1e-6 / norm
      expectAllclose(
        'a',
        (await tensors[0].read()).data,
        decodeFloat64(a).map((x) => x * scale),
        tolerance,
      )
      expectAllclose(
        'b',
        (await tensors[1].read()).data,
        decodeFloat64(b).map((x) => x * scale),
        tolerance,
      )
      const before = Array.from((await tensors[0].read()).data)
      backend.ops.clipByGlobalNorm(tensors, 1e6)
      expect(Array.from((await tensors[0].read()).data)).toEqual(before)
    })

    test('globalNorm and clipByGlobalNorm count and scale a tensor once that is listed twice', async () => {
      using backend = await open()
      const tensor = backend.tensor({ data: new DTYPES[backend.dtype].array([3, 4]), shape: [2] })
      expectAllclose('norm', (await backend.ops.globalNorm([tensor, tensor]).read()).data, [5], tolerance)
      const norm = backend.ops.clipByGlobalNorm([tensor, tensor], 1)
      expectAllclose('norm', (await norm.read()).data, [5], tolerance)
      expectAllclose('tensor', (await tensor.read()).data, [0.6, 0.8], tolerance)
    })

    test('assign and accumulate write into the variable itself', async () => {
      using backend = await open()
      const variable = backend.zeros([3])
      backend.ops.assign(variable, make('x', [3]))
      backend.ops.accumulate(variable, make('x', [3]), 2)
      const expected = make('x', [3]).data.map((x) => 3 * x)
      expectAllclose('variable', (await variable.read()).data, expected, tolerance)
    })
  })

  describe('operations that write tensors refuse', () => {
    const wrong: readonly (readonly [string, string, (backend: Backend) => unknown])[] = [
      ['a shape that is not an array', 'ERR_SHAPE', ({ zeros }) => zeros(3 as unknown as number[])],
      ['updates of unequal shapes', 'ERR_SHAPE', ({ ops, zeros }) => ops.accumulate(zeros([2]), make('x', [3]))],
      [
        'a learning rate that is NaN',
        'ERR_HYPERPARAMETER',
        ({ ops, zeros }) => ops.update('sgd', zeros([2]), [], make('x', [2]), { learningRate: Number.NaN }),
      ],
      [
        'a beta of 1',
        'ERR_HYPERPARAMETER',
        ({ ops, zeros }) =>
          ops.update('adam', zeros([2]), [zeros([2]), zeros([2])], make('x', [2]), {
            learningRate: 1,
            beta1: 1,
            step: 1,
          }),
      ],
    ]
    test.each(wrong)('%s (%s)', async (_, code, call) => {
      using backend = await open()
      const { tensors } = backend.stats()
      // Methods are called on the backend, whose tensors the case may need.
      const bound = { ops: backend.ops, zeros: (shape: readonly number[]) => backend.zeros(shape) } as Backend
      expect(() => call(bound)).toThrow(coded(code))
      expect(backend.stats().tensors - tensors).toBeLessThanOrEqual(3)
    })
  })

  if (dtype !== 'float64') return
  test('the gradients of linear and softmaxCrossEntropy equal numerical differentiation', async () => {
    using backend = await open()
    const operands = { x: make('x', [3, 4]), kernel: make('weights', [4, 5], 3), bias: make('biases', [5]) }
    const labels = int32([4, 0, 2])
    const logits = backend.ops.linear(operands.x, operands.kernel, operands.bias)
    const { logitsGradient } = backend.ops.softmaxCrossEntropy(logits, labels)
    const analytic = backend.ops.linearGradients(operands.x, operands.kernel, logitsGradient)
    const lossAt = async (name: keyof typeof operands, index: number, delta: number) => {
      const data = operands[name].data.slice() as FloatArray
      data[index] += delta
      const moved = { ...operands, [name]: { data, shape: operands[name].shape } }
      const { loss } = backend.ops.softmaxCrossEntropy(backend.ops.linear(moved.x, moved.kernel, moved.bias), labels)
      return (await loss.read()).data[0]
    }
    const delta = 1e-5
    for (const [name, gradient] of [
      ['x', analytic.input],
      ['kernel', analytic.kernel],
      ['bias', analytic.bias],
    ] as const) {
      const slopes: number[] = []
      for (let index = 0; index < elementCount(operands[name].shape); index++) {
        slopes.push(((await lossAt(name, index, delta)) - (await lossAt(name, index, -delta))) / (2 * delta))
      }
      const magnitude = Math.max(...slopes.map(Math.abs))
      const values = Array.from((await gradient.read()).data, (value) => value / magnitude)
      expectAllclose(
        `∂loss/∂${name}`,
        values,
        slopes.map((slope) => slope / magnitude),
        1e-7,
      )
    }
  })
}

function update(
  { ops }: Backend,
  optimizer: string,
  variable: BackendTensor,
  first: BackendTensor,
  second: BackendTensor,
  gradient: Tensor,
  step: number,
): void {
  const learningRate = LEARNING_RATE
  if (optimizer === 'sgd') ops.update('sgd', variable, [], gradient, { learningRate })
  else if (optimizer === 'adam') ops.update('adam', variable, [first, second], gradient, { learningRate, step })
  else
    ops.update('momentum', variable, [first], gradient, {
      learningRate,
      momentum: 0.9,
      nesterov: optimizer === 'nesterov',
    })
}
