import type { Tensor } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import { Philox } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { isPackedMessage, MessageReader, MessageWriter } from '../../src/threads/message_codec.js'

describe('MessageWriter and MessageReader', () => {
  it('are inverses, over a copy that another thread has', () => {
    const writer = new MessageWriter()
    const tensors: Tensor[] = [
      { data: Float32Array.of(1, 2, 3, 4), shape: [2, 2] },
      { data: Float64Array.of(0.1), shape: [] },
      { data: Float32Array.of(5), shape: [1] },
      { data: Int32Array.of(-7, 8), shape: [2] },
      { data: new Float32Array(0), shape: [0, 3] },
    ]
    for (const [index, tensor] of tensors.entries()) {
      writer.write('step', [index, index - 9], { tensor })
    }
    writer.write('restore', [], { value: { h: [1] } })
    const { message, transfer } = writer.take()
    const reader = new MessageReader(structuredClone(message, { transfer: [...transfer] }))
    for (const [index, tensor] of tensors.entries()) {
      expect([reader.read(), reader.read()]).toEqual([index, index - 9])
      expect(reader.readTensor()).toEqual(tensor)
    }
    expect(reader.readValue()).toEqual({ h: [1] })
    expect(reader.isAtEnd).toBe(true)
  })

  it('keep random messages', () => {
    const random = new Philox(8)
    const below = (limit: number) => Math.floor(random.uniform() * limit)
    for (let round = 0; round < 50; round++) {
      const writer = new MessageWriter()
      const written: (number | Tensor)[] = []
      for (let part = below(12); part > 0; part--) {
        const shape = Array.from({ length: below(4) }, () => below(4))
        const size = elementCount(shape)
        const ArrayOf = [Float32Array, Float64Array, Int32Array][below(3)] ?? Float32Array
        const each = below(2) === 0 ? below(1000) : { data: new ArrayOf(size).map(() => below(100)), shape }
        if (typeof each === 'number') writer.write('step', [each])
        else writer.write('step', [], { tensor: each as Tensor })
        written.push(each as Tensor)
      }
      const reader = new MessageReader(writer.take().message)
      expect(written.map((each) => (typeof each === 'number' ? reader.read() : reader.readTensor()))).toEqual(written)
      expect(reader.isAtEnd).toBe(true)
    }
  })

  it('copy what their caller may overwrite', () => {
    const [writer, data] = [new MessageWriter(), Float32Array.of(1)]
    const value = { h: [1] }
    writer.write('step', [], { tensor: { data, shape: [1] } })
    writer.write('restore', [], { value })
    data[0] = value.h[0] = 9
    const reader = new MessageReader(writer.take().message)
    expect([reader.readTensor().data[0], reader.readValue()]).toEqual([1, { h: [1] }])
  })

  it('refuse a message that ends within a call, which would be read forever', () => {
    const reader = new MessageReader({ numbers: Int32Array.of(1, 2), elements: [], values: [] })
    const readAll = () => {
      while (!reader.isAtEnd) for (let call = 0; call < 3; call++) reader.read()
    }
    expect(readAll).toThrow(coded('ERR_BROKEN_INVARIANT'))
  })

  it('begin again after take()', () => {
    const writer = new MessageWriter()
    expect(writer.isEmpty).toBe(true)
    writer.write('step', [1], { tensor: { data: Float32Array.of(1), shape: [1] } })
    writer.write('restore', [1], { value: 'a' })
    expect(writer.isEmpty).toBe(false)
    writer.take()
    expect(writer.isEmpty).toBe(true)
    const { message, transfer } = writer.take()
    expect(message).toEqual({ numbers: new Int32Array(0), elements: [undefined, undefined, undefined], values: [] })
    expect(transfer).toEqual([message.numbers.buffer])
  })

  it.each<[string, string, object]>([
    ['ERR_DTYPE', 'bytes', { tensor: { data: new Uint8Array(1), shape: [1] } }],
    ['ERR_DTYPE', 'no array', { tensor: { data: [1], shape: [1] } }],
    ['ERR_NOT_A_STATE', 'a function', { value: () => 1 }],
    ['ERR_NOT_A_STATE', 'a symbol within', { value: { h: Symbol('h') } }],
    ['ERR_NOT_A_STATE', 'a promise', { value: Promise.resolve() }],
    ['ERR_NOT_A_STATE', 'a proxy', { value: new Proxy({}, {}) }],
  ])('refuse with %s %s, and have written nothing of it', (code, _, part) => {
    const writer = new MessageWriter()
    expect(() => writer.write('step', [1, 2], part as never)).toThrow(coded(code))
    expect(writer.isEmpty).toBe(true)
    const { elements, values } = writer.take().message
    expect([elements.filter(Boolean), values]).toEqual([[], []])
  })

  it('write a shape of any rank', () => {
    const writer = new MessageWriter()
    const tensor = { data: Float32Array.of(1), shape: new Array(300_000).fill(1) }
    writer.write('step', [1], { tensor })
    expect(writer.take().message.numbers).toHaveLength(300_003)
  })
})

it.each([undefined, null, 1, 'text', {}, [], { numbers: [1], elements: [], values: [] }, { ready: true }])(
  '%o is not a packed message',
  (message) => expect(isPackedMessage(message)).toBe(false),
)
