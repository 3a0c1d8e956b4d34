import { CudnnGRU, type Variable } from '@cudnn-rnn/models'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { type GradientTape, grad, infer } from '@cudnn-rnn/train'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { B, executors, host, I, leavesNothing, refusesBy, squares, T, variable } from './taped_values.js'

describe.each(executors)('wrong uses of a tape of $name', (executor) => {
  const left = leavesNothing(executor)
  const refused = refusesBy(left)
  const loss = (t: GradientTape, p: Variable) =>
    t.elementLoss(t.linear(host([B, 2]), p, host([3])), squares, 'squared_error')

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
