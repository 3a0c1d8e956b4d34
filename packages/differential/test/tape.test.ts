import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, Variable } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { type GradientTape, grad, infer, valueAndGrad } from '@cudnn-rnn/train'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openReference, type TestedExecutor, testedExecutors } from '../src/executors.js'
import type { Program } from '../src/program.js'

const [T, B, I, H] = [4, 3, 2, 5]
const host = (shape: readonly number[], at = 1) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => Math.sin(at + 1.7 * k)),
  shape,
})
const variable = (backend: Backend, shape: readonly number[], at = 1) =>
  new Variable(backend, backend.tensor(host(shape, at)), `v${at}`)
const read = async (tensor: BackendTensor) => Array.from((await tensor.read()).data)
const squares = { data: new Float32Array(B * 3), shape: [B, 3] }

const reference: TestedExecutor = {
  name: 'reference',
  sharesMasks: true,
  open: async (program) => openReference(program),
}
const executors = [reference, ...testedExecutors().found].filter(({ name }) => name !== 'cudnn 8')

describe.each(executors)('a tape of $name', ({ open, inspect }) => {
  /** Runs `body`; afterwards nothing but its variables may be left. */
  async function left(body: (backend: Backend) => Promise<unknown>, tensors: number): Promise<void> {
    const backend = await open({ dtype: 'float32', threads: 2 } as Program)
    try {
      await body(backend)
      expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
    } finally {
      backend.dispose()
      await inspect?.(backend)
    }
  }
  const refused = (code: string, f: (t: GradientTape, p: Variable) => unknown) =>
    left(async (backend) => {
      const p = variable(backend, [2, 3])
      await expect(valueAndGrad(f as never)(p as never)).rejects.toThrow(coded(code))
    }, 1)
  const loss = (t: GradientTape, p: Variable) =>
    t.elementLoss(t.linear(host([B, 2]), p, host([3])), squares, 'squared_error')

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

  it('refuses values of another tape', async () => {
    let other: ReturnType<typeof loss> | undefined
    await refused('ERR_SECOND_ORDER', async (t, p) => {
      const inner = await grad((own, v: Variable) => {
        other = own.activate(v, 'tanh')
        return loss(own, v)
      })(p)
      inner.dispose()
      return t.activate(other as never, 'tanh')
    })
    await refused('ERR_SECOND_ORDER', (t, p) => grad(loss)(t.activate(p, 'tanh') as never))
  })

  it('refuses tensors and variables of another executor', async () => {
    using elsewhere = openReferenceBackend()
    const foreign = variable(elsewhere, [2, 3])
    await refused('ERR_FOREIGN_TENSOR', (t, p) => t.multiply(p, foreign))
    await refused('ERR_FOREIGN_TENSOR', (t) => t.value(foreign.value))
    await left(async (backend) => {
      const params = [variable(backend, [2, 3]), foreign]
      const none = grad((t, [a]: readonly Variable[]) => loss(t, a as Variable))(params)
      await expect(none).rejects.toThrow(coded('ERR_FOREIGN_TENSOR'))
    }, 1)
  })

  it('refuses values that were disposed with their scope', async () => {
    await refused('ERR_TENSOR_DISPOSED', (t) => {
      const escaped: unknown[] = []
      t.scope((inner) => void escaped.push(inner.value(host([2, 3]))))
      return t.activate(escaped[0] as never, 'tanh')
    })
  })

  it('names the operation, the operand and both shapes of one that does not fit', async () => {
    await left(async (backend) => {
      const p = variable(backend, [2, 3])
      const wrong = grad((t, v: Variable) => t.linear(t.activate(host([B, 4]), 'relu'), v, host([3])))(p)
      await expect(wrong).rejects.toThrow('Cannot apply linear as input must have shape [N1,2]: current shape is [3,4]')
    }, 1)
  })

  it('refuses a gradient that an operation does not have', async () => {
    await left(async (backend) => {
      const p = variable(backend, [2])
      const weighted = grad((t, v: Variable) => t.elementLoss(host([2, 1]), host([2, 1], 2), 'squared_error', v))(p)
      await expect(weighted).rejects.toThrow(
        'elementLoss has none with respect to weights: pass t.stopGradient(weights)',
      )
    }, 1)
  })

  it('refuses calls that were not awaited', async () => {
    const network = async (backend: Backend) => {
      const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 3, inputSize: I })
      const params = gru.createParams() as Variable
      const x = host([T, B, I])
      const forgotten = [
        (t: GradientTape, p: Variable) => t.activate(gru.run(t, p, x) as never, 'tanh'),
        (t: GradientTape, p: Variable) => t.activate((gru.run(t, p, x) as unknown as { output: never }).output, 'tanh'),
        (t: GradientTape, p: Variable) => {
          void gru.run(t, p, x)
          return t.elementLoss(host([1, 1]), host([1, 1], 2), 'squared_error')
        },
      ]
      for (const f of forgotten) await expect(grad(f)(params)).rejects.toThrow(coded('ERR_NOT_AWAITED'))
      gru.dispose()
    }
    await left(network, 1)
  })

  it('refuses losses of other shapes, and results that are not values', async () => {
    await refused('ERR_SHAPE', (t, p) => t.activate(p, 'tanh'))
    for (const wrong of [undefined, null, 'x', {}]) await refused('ERR_NOT_A_TENSOR', () => wrong)
  })

  it('refuses gradients of variables that were overwritten since', async () => {
    await refused('ERR_TAPE_STALE', (t, p) => {
      const value = loss(t, p)
      const product = t.multiply(p, p)
      p.assign(host([2, 3], 9))
      return t.elementLoss(product, host([2, 3]), 'squared_error') && value
    })
  })

  it('refuses operations after its function has ended', async () => {
    await left(async (backend) => {
      const p = variable(backend, [2, 3])
      let late: GradientTape | undefined
      const y = await infer((t, v: Variable) => {
        late = t
        return t.activate(v, 'tanh')
      })(p)
      y.dispose()
      expect(() => late?.activate(p, 'tanh')).toThrow(coded('ERR_TAPE_DISPOSED'))
      expect(() => late?.scope(() => {})).toThrow(coded('ERR_TAPE_DISPOSED'))
    }, 1)
  })

  it('disposes everything where a forward or a gradient fails half-way', async () => {
    await left(async (backend) => {
      const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 3, inputSize: I })
      const params = gru.createParams() as Variable
      const failing = grad(async (t, p: Variable) => {
        await t.scope(async (inner) => {
          const { output } = await gru.run(inner, p, host([T, B, I]))
          inner.activate(output, 'tanh')
          throw new Error('half-way')
        })
        return t.value(p)
      })
      await expect(failing(params)).rejects.toThrow('half-way')
      const late = grad(async (t, p: Variable) => {
        const { output } = await gru.run(t, p, host([T, B, I]))
        const value = t.elementLoss(t.activate(output, 'tanh'), host([T, B, 3]), 'squared_error')
        p.assign(p.value)
        return value
      })
      await expect(late(params)).rejects.toThrow(coded('ERR_TAPE_STALE'))
      gru.dispose()
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

  it('refuses params that are not variables, and functions that are not functions', async () => {
    expect(() => grad(1 as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    expect(() => infer(undefined as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    const f = grad(loss)
    for (const wrong of [undefined, 1, {}, [], { a: 1 }, host([2, 3]), { name: 'x', value: 1 }]) {
      await expect(f(wrong as never)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
    }
    await refused('ERR_INVALID_ARGUMENT', (t) => t.scope(1 as never))
  })
})
