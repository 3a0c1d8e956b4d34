import { elementCount, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { ExecutorTensor } from '../../../src/executor/index.js'

class OwnTensor extends ExecutorTensor {
  disposals = 0

  get disposed(): boolean {
    return this.disposals > 0
  }

  async read(): Promise<Tensor<FloatArray>> {
    return { data: Float32Array.from({ length: elementCount(this.shape) }, (_, index) => index), shape: this.shape }
  }

  dispose(): void {
    this.disposals++
  }
}

describe('ExecutorTensor', () => {
  it('keeps a frozen shape, and copies any other', () => {
    const [frozen, open] = [Object.freeze([1, 2]), [1, 2]]
    expect(new OwnTensor(frozen, 'float32', undefined).shape).toBe(frozen)
    const { shape } = new OwnTensor(open, 'float32', undefined)
    open[0] = 9
    expect(shape).toEqual([1, 2])
    expect(Object.isFrozen(shape)).toBe(true)
  })

  it.each(['shape', 'dtype', 'layout'])('has a %s that cannot be written', (name) => {
    const tensor = new OwnTensor([2], 'float64', 'gru/1')
    expect(Reflect.set(tensor, name, 'other')).toBe(false)
    expect([tensor.shape, tensor.dtype, tensor.layout]).toEqual([[2], 'float64', 'gru/1'])
  })

  it('is disposed at the end of a using block', () => {
    let seen: OwnTensor | undefined
    {
      using tensor = new OwnTensor([2], 'float32', undefined)
      seen = tensor
      expect(tensor.disposed).toBe(false)
    }
    expect(seen.disposals).toBe(1)
  })

  it('prints its shape, dtype, layout and state, and no elements', () => {
    const tensor = new OwnTensor([2, 3], 'float32', undefined)
    expect(String(tensor)).toBe('BackendTensor { shape: [2,3], dtype: "float32", state: "live" }')
    tensor.dispose()
    expect(JSON.parse(JSON.stringify(tensor))).toEqual({
      ...{ kind: 'BackendTensor', shape: [2, 3], dtype: 'float32', state: 'disposed' },
    })
  })

  it.each([
    [[], 0],
    [[3], [0, 1, 2]],
    [
      [2, 1, 2],
      [[[0, 1]], [[2, 3]]],
    ],
    [
      [2, 0],
      [[], []],
    ],
  ])('gives its elements as a typed array and as nested arrays, of shape %j', async (shape, expected) => {
    const tensor = new OwnTensor(shape, 'float32', undefined)
    expect(await tensor.toArray()).toEqual(expected)
    expect(await tensor.data()).toEqual((await tensor.read()).data)
  })

  it('cannot be sent to another thread by mistake', () => {
    const tensor = new OwnTensor([2], 'float32', undefined)
    expect(() => structuredClone({ weights: [tensor] })).toThrow(/could not be cloned/)
  })
})
