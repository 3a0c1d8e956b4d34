import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { checkOwnTensors, HostMemory, type OperationQueue } from '../../../src/executor/index.js'
import { stubTensor } from '../stub_tensor.js'

/** A queue whose operation 1 is done and whose operation 2 failed. */
function openQueue(): OperationQueue & { closed: number } {
  return {
    closed: 0,
    failureCode: 'ERR_OWN_OPERATION',
    done: (job) => (job === 1 ? Promise.resolve() : Promise.reject(new Error('out of luck'))),
    pin: () => {},
    close() {
      this.closed++
    },
  }
}

describe('HostMemory', () => {
  it('copies host tensors of its floating type and of integers, and refuses others', () => {
    const memory = new HostMemory('float64')
    const host = { data: Float64Array.of(1, 2), shape: [2] }
    const copy = memory.copyOf(host)
    host.data[0] = 9
    expect([...copy.live]).toEqual([1, 2])
    expect(memory.copyOf({ data: Int32Array.of(3), shape: [1] }).dtype).toBe('int32')
    expect(() => memory.copyOf({ data: new Float32Array(1), shape: [1] })).toThrow(coded('ERR_DTYPE'))
    expect(() => memory.copyOf({ data: new Float64Array(1), shape: [2] })).toThrow(coded('ERR_SHAPE'))
    expect(() => memory.zeros([1.5])).toThrow(coded('ERR_SHAPE'))
  })

  it('gives operations the live elements, but a copy of a host tensor if they are queued', () => {
    const host = { data: new Float32Array(2), shape: [2] }
    for (const queue of [undefined, openQueue()]) {
      const memory = new HostMemory('float32', queue)
      const tensor = memory.copyOf(host)
      expect(memory.floats(tensor)).toBe(tensor.live)
      expect(memory.floats(host) === host.data).toBe(queue === undefined)
      expect(memory.floats(host)).toEqual(host.data)
      expect(memory.lastingFloats(host)).not.toBe(host.data)
      expect(memory.lastingFloats(host)).toEqual(host.data)
    }
  })

  it('counts its tensors, and takes them along when it is disposed', () => {
    const queue = openQueue()
    const memory = new HostMemory('float32', queue)
    const [first, second] = [memory.zeros([3]), memory.zeros([2], 'lstm')]
    expect(second.layout).toBe('lstm')
    expect(memory.ledger.snapshot()).toMatchObject({ tensors: 2, bytes: 20 })
    first.dispose()
    first.dispose()
    expect(memory.ledger.snapshot()).toMatchObject({ tensors: 1, bytes: 8 })
    expect(() => first.live).toThrow(coded('ERR_TENSOR_DISPOSED'))
    memory.dispose()
    memory.dispose()
    expect(queue.closed).toBe(1)
    expect(second.disposed).toBe(true)
    expect(() => memory.zeros([1])).toThrow(coded('ERR_BACKEND_DISPOSED'))
  })

  it('reads a result when its operation is done, and rejects with the error of the operation', async () => {
    const memory = new HostMemory('float32', openQueue())
    const result = memory.result([1], Float32Array.of(5), 1)
    expect([...(await result.read()).data]).toEqual([5])
    result.job = 2
    const failed = { code: 'ERR_OWN_OPERATION', message: expect.stringContaining('out of luck') }
    await expect(result.read()).rejects.toThrow(expect.objectContaining(failed))
    const pending = result.read()
    memory.dispose()
    await expect(pending).rejects.toThrow(coded('ERR_BACKEND_DISPOSED'))
  })
})

describe('checkOwnTensors', () => {
  it('takes host tensors, absent ones and tensors of this memory, and refuses tensors of another', () => {
    const memory = new HostMemory('float32')
    const own = memory.zeros([1])
    expect(() =>
      checkOwnTensors(memory, 'add', {
        own,
        host: { data: new Float32Array(1), shape: [1] },
        none: null,
        left: undefined,
      }),
    ).not.toThrow()
    for (const gradient of [new HostMemory('float32').zeros([1]), stubTensor([1])]) {
      const foreign = coded('ERR_FOREIGN_TENSOR', { argument: 'gradient' })
      expect(() => checkOwnTensors(memory, 'add', { own, gradient })).toThrow(foreign)
    }
  })
})
