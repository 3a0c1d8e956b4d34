import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, type Variable } from '@cudnn-rnn/models'
import type { BackendTensor } from '@cudnn-rnn/ops'
import { type GradientTape, grad, infer, valueAndGrad } from '@cudnn-rnn/train'
import { describe, expect, it } from 'vitest'
import { B, executors, H, host, I, leavesNothing, refusesBy, T, variable } from './taped_values.js'

const read = async (tensor: BackendTensor) => Array.from((await tensor.read()).data)

describe.each(executors)('a tape of $name', (executor) => {
  const left = leavesNothing(executor)
  const refused = refusesBy(left)

  it.each([CudnnLSTM, CudnnGRU, CudnnRNNRelu, CudnnRNNTanh])('runs %o as call() and gradients() do', async (Model) => {
    await left(async (backend) => {
      const model = new Model(backend, { numLayers: 2, numUnits: H, inputSize: I, direction: 'bidirectional' })
      const params = model.createParams({ seed: 1 })
      const isLstm = model instanceof CudnnLSTM
      const [x, h, c] = [variable(backend, [T, B, I]), variable(backend, [4, B, H], 2), variable(backend, [4, B, H], 3)]
      const [target, sequenceLengths] = [host([T, B, 2 * H], 5), [4, 0, 2]]
      const step = valueAndGrad(async (t, p: { x: Variable; h: Variable; c: Variable; params: Variable }) => {
        const state = isLstm ? { h: p.h, c: p.c } : { h: p.h }
        const run = await model.run(t, p.params, p.x, { state, lengths: sequenceLengths })
        return t.elementLoss(run.output, target, 'squared_error')
      })
      const { value, gradients } = await step({ x, h, c, params: params as Variable })
      const all = { isTraining: true, sequenceLengths } as const
      const made = isLstm
        ? await model.call(x.value, h.value, c.value, params as never, all)
        : await model.call(x.value, h.value, params as never, all)
      const { loss: expected, gradient } = backend.ops.elementLoss(made.output, target, 'squared_error')
      const own = (await model.gradients(made.tape as never, { output: gradient })) as unknown as Record<
        string,
        BackendTensor
      >
      expect(await read(value)).toEqual(await read(expected))
      expect(await read(gradients.params)).toEqual(await read(own['params'] as BackendTensor))
      expect(await read(gradients.x)).toEqual(await read(own['input'] as BackendTensor))
      expect(await read(gradients.h)).toEqual(await read(own['inputH'] as BackendTensor))
      if (isLstm) expect(await read(gradients.c)).toEqual(await read(own['inputC'] as BackendTensor))
      const last = infer(async (t, p: Variable) => (await model.run(t, p, x)).state.h)
      const state = await last(params as Variable)
      const { output: aloneOutput, state: alone } = await model.run(params, x.value)
      expect(await read(state)).toEqual(await read(alone.h))
      const results = [
        value,
        expected,
        gradient,
        state,
        aloneOutput,
        alone.h,
        alone.c,
        ...Object.values(made),
        ...Object.values(own),
      ]
      for (const result of [...results, ...Object.values(gradients)]) result?.dispose()
      const both = await infer(async (t, p: Variable) => (await model.run(t, p, x)).output)(params as Variable)
      both.dispose()
      model.dispose()
    }, 4)
  })

  it('adds up the gradients of a value that is used more than once', async () => {
    await left(async (backend) => {
      const p = { a: variable(backend, [2, 3]), b: variable(backend, [2, 3], 2), unused: variable(backend, [2]) }
      const f = valueAndGrad((t, v: typeof p) => {
        const product = t.multiply(v.a, v.b)
        const joined = t.concat([product, v.a, product, t.stopGradient(v.b)])
        return t.elementLoss(joined, { data: new Float32Array(24).fill(-9), shape: [2, 12] }, 'absolute_error')
      })
      const { value, gradients } = await f(p)
      const [a, b] = [await read(p.a.value), await read(p.b.value)]
      const expected = b.map((x) => (2 * x + 1) / 24)
      expect(await read(gradients.a)).toEqual(expected.map((x) => expect.closeTo(x, 6)))
      expect(await read(gradients.b)).toEqual(a.map((x) => expect.closeTo(x / 12, 6)))
      expect(await read(gradients.unused)).toEqual([0, 0])
      for (const tensor of [value, ...Object.values(gradients)]) tensor.dispose()
    }, 3)
  })

  it('frees the values that a scope does not return, and keeps those that gradients read', async () => {
    await left(async (backend) => {
      const p = variable(backend, [2, 3])
      const counts: number[] = []
      const f = (t: GradientTape, v: Variable) => {
        const y = t.scope((inner) => inner.reshape(inner.activate(inner.reshape(v, [6, 1]), 'tanh'), [2, 3]))
        counts.push(backend.stats().tensors)
        return t.elementLoss(y, host([2, 3]), 'squared_error')
      }
      const gradient = await grad(f)(p)
      gradient.dispose()
      const y = await infer(f)(p)
      y.dispose()
      expect(counts).toEqual([3, 2])
    }, 1)
  })

  it('passes one gradient for the parts of unstack and split, those that nothing reads among them', async () => {
    await left(async (backend) => {
      const p = variable(backend, [2, 6])
      const weights = host([2, 2], 3)
      const step = valueAndGrad((t, x: Variable) => {
        const [first, , last] = t.split(x, 3)
        const [, row] = t.unstack(x)
        return t.add(t.sum(t.multiply(t.multiply(first, last), weights)), t.sum(t.square(row)))
      })
      const { value, gradients } = await step(p)
      const [x, w] = [host([2, 6]).data, weights.data]
      const expected = Array.from(x, (own, k) => {
        const [row, column] = [Math.floor(k / 6), k % 6]
        // Columns 0, 1 and 4, 5 are the factors of each other.
        const isFactor = column < 2 || column > 3
        const ofSplit = isFactor ? w[2 * row + (column % 2)] * x[6 * row + ((column + 4) % 8)] : 0
        return ofSplit + (row === 1 ? 2 * own : 0)
      })
      for (const [k, each] of (await read(gradients)).entries()) expect(each).toBeCloseTo(expected[k], 5)
      for (const tensor of [value, gradients]) tensor.dispose()
    }, 1)
    await refused('ERR_SHAPE', (t, p) => t.split(p, 2))
    await refused('ERR_SHAPE', (t) => t.split(1, 1))
    await refused('ERR_INVALID_OPTION', (t, p) => t.split(p, 0))
    await refused('ERR_INVALID_ARGUMENT', (t, p) => t.split(p, '3' as never))
    await refused('ERR_SHAPE', (t) => t.unstack(1))
  })
})
