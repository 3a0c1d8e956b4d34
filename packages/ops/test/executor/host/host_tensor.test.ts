import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { HostMemory, HostTensor } from '../../../src/executor/index.js'

const open = () => {
  const memory = new HostMemory('float32')
  return { memory, tensor: memory.copyOf({ data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] }) }
}

describe('HostTensor', () => {
  it('has a shape that cannot be changed, and prints it', () => {
    const { memory } = open()
    const shape = [2]
    const tensor = memory.create(shape, new Float32Array(2), 'lstm/1')
    shape[0] = 9
    expect(tensor.shape).toEqual([2])
    expect(() => (tensor.shape as number[]).push(1)).toThrow(TypeError)
    expect(String(tensor)).toBe('BackendTensor { shape: [2], dtype: "float32", layout: "lstm/1", state: "live" }')
  })

  it('reads the live memory each time, in an array of its type', async () => {
    const { tensor } = open()
    const { data, shape } = await tensor.read()
    tensor.live[0] = 7
    expect(data).toEqual(Float32Array.of(7, 2, 3, 4))
    expect(shape).toEqual([2, 2])
    expect((await tensor.read()).data).toBe(data)
  })

  it('reads a copy of memory that other threads write', async () => {
    const { memory } = open()
    const elements = memory.allocateShared(2)
    const tensor = memory.shared(elements, { shape: [2], layout: undefined, id: 'weights' })
    const { data } = await tensor.read()
    elements[0] = 7
    expect([...data]).toEqual([0, 0])
    expect(tensor.sharedId).toBe('weights')
  })

  it('is refused after dispose(), and counted out once', async () => {
    const { memory, tensor } = open()
    {
      using disposed = tensor
      disposed.dispose()
    }
    expect([tensor.disposed, memory.ledger.snapshot().bytes]).toEqual([true, 0])
    expect(() => tensor.live).toThrow(coded('ERR_TENSOR_DISPOSED'))
    await expect(tensor.read()).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
    expect(tensor.shape).toEqual([2, 2])
  })

  it('is refused when its elements were transferred', async () => {
    const { tensor } = open()
    const { data } = await tensor.read()
    structuredClone(data, { transfer: [data.buffer as ArrayBuffer] })
    const refusal = coded('ERR_TENSOR_TRANSFERRED', { expected: 4, actual: 0 })
    expect(() => tensor.live).toThrow(refusal)
    await expect(tensor.read()).rejects.toThrow(refusal)
  })

  it('cannot be cloned: the error states the remedy', () => {
    expect(() => structuredClone(open().tensor)).toThrow(/read\(\) it and send the host tensor/)
  })

  it('is one of its memory; a proxy, a copy and a tensor of another memory are not', () => {
    const { memory, tensor } = open()
    expect(HostTensor.isOf(memory, tensor)).toBe(true)
    const others = [open().tensor, new Proxy(tensor, {}), { ...tensor }, Object.create(tensor), null, undefined, 3]
    expect(others.map((other) => HostTensor.isOf(memory, other))).toEqual(others.map(() => false))
  })
})
