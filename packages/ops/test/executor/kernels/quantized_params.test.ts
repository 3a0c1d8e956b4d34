import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { QuantizedParamsCache } from '../../../src/executor/kernels/quantized_params.js'
import type { MatrixFormat } from '../../../src/executor/kernels/weight_format.js'
import { openNotingExecutor } from './noting_executor.js'

const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 2, inputSize: 1 })

function open(weightFormat: MatrixFormat, leavesSmall = false) {
  const opened = openNotingExecutor({ weightFormat, leavesSmall })
  const network = opened.executor.makeNetwork(descriptor)
  return { ...opened, network, cache: new QuantizedParamsCache(opened.executor, network, 1) }
}

describe('QuantizedParamsCache', () => {
  it('is empty where the parameters themselves are read', () => {
    const { cache, memory, jobs } = open('float32')
    const tensor = memory.zeros([2])
    expect(cache.of(tensor, tensor.live as Float32Array, 1)).toBeNull()
    expect(jobs).toEqual([])
  })

  it.each([
    ['bfloat16', 1],
    ['int8', 2],
    ['bfloat16_products', 3],
    ['int8_products', 4],
  ] as const)('quantizes to %s', (weightFormat, format) => {
    const { cache, memory, jobs, network } = open(weightFormat)
    const tensor = memory.zeros([2])
    const made = cache.of(tensor, tensor.live as Float32Array, 1)
    expect(jobs).toEqual([
      { name: 'quantize', job: { network, params: tensor.live, quantized: made?.weights, format } },
    ])
    expect(made?.job).toBe(1)
  })

  it('makes one copy of a tensor in each version', () => {
    const { cache, memory } = open('int8')
    const [first, second] = [memory.zeros([2]), memory.zeros([2])]
    const of = (tensor: typeof first) => cache.of(tensor, tensor.live as Float32Array, 1)
    const made = of(first)
    expect(of(first)).toBe(made)
    expect(of(second)?.weights).not.toBe(made?.weights)
    first.version++
    const again = of(first)
    expect(again?.weights).not.toBe(made?.weights)
    expect(of(first)).toBe(again)
  })

  it('makes a copy of a host array at every call, as its contents may have changed', () => {
    const { cache, jobs } = open('int8')
    const host = { data: new Float32Array(2), shape: [2] }
    expect(cache.of(host, host.data, 1)?.weights).not.toBe(cache.of(host, host.data, 1)?.weights)
    expect(jobs).toHaveLength(2)
  })

  it('names the copy of shared parameters for other threads, by memory, layout and format', () => {
    const { cache, memory, quantizedKeys } = open('bfloat16')
    const shared = memory.shared(memory.allocateShared(2), { shape: [2], layout: 'gru/1', id: 'weights-7' })
    cache.of(shared, shared.live as Float32Array, 1)
    const own = memory.zeros([2], 'gru/1')
    cache.of(own, own.live as Float32Array, 1)
    expect(quantizedKeys).toEqual(['weights-7 gru/1 bfloat16', undefined])
  })

  it('keeps no copy whose operation was refused', () => {
    const { cache, memory, state, jobs } = open('int8')
    const tensor = memory.zeros([2])
    const of = () => cache.of(tensor, tensor.live as Float32Array, 1)
    state.failure = new Error('the queue is closed')
    expect(of).toThrow(state.failure)
    state.failure = undefined
    expect(of()?.job).toBe(1)
    expect(jobs).toHaveLength(1)
  })

  it('leaves networks of small steps and passes in float32', () => {
    const { executor, memory } = open('bfloat16_products', true)
    const tensor = memory.zeros([2])
    const cache = new QuantizedParamsCache(
      executor,
      { ...executor.makeNetwork(descriptor), paramsSize: () => 32768 },
      2,
    )
    const made = [1, 2].map((batch) => cache.of(tensor, tensor.live as Float32Array, batch) !== null)
    expect(made).toEqual([false, true])
    const isRounded = (time: number, batch: number) => cache.isRounded({ time, batch, sequenceLengths: null })
    expect([isRounded(99, 3), isRounded(7, 4), isRounded(8, 4)]).toEqual([false, false, true])
  })
})
