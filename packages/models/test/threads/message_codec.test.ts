import type { Tensor } from '@cudnn-rnn/canonical'
import { elementCount } from '@cudnn-rnn/canonical'
import { Philox } from '@cudnn-rnn/executor-kit'
import { describe, expect, it } from 'vitest'
import { MessageReader, MessageWriter } from '../../src/threads/message_codec.js'

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
      writer.write(index, index - 9)
      writer.writeTensor(tensor)
    }
    writer.writeValue({ h: [1] })
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
        if (typeof each === 'number') writer.write(each)
        else writer.writeTensor(each as Tensor)
        written.push(each as Tensor)
      }
      const reader = new MessageReader(writer.take().message)
      expect(written.map((each) => (typeof each === 'number' ? reader.read() : reader.readTensor()))).toEqual(written)
      expect(reader.isAtEnd).toBe(true)
    }
  })

  it('copy what their caller may overwrite', () => {
    const [writer, data] = [new MessageWriter(), Float32Array.of(1)]
    writer.writeTensor({ data, shape: [1] })
    data[0] = 9
    expect(new MessageReader(writer.take().message).readTensor().data[0]).toBe(1)
  })

  it('begin again after take()', () => {
    const writer = new MessageWriter()
    expect(writer.isEmpty).toBe(true)
    writer.write(1)
    writer.writeTensor({ data: Float32Array.of(1), shape: [1] })
    writer.writeValue('a')
    expect(writer.isEmpty).toBe(false)
    writer.take()
    expect(writer.isEmpty).toBe(true)
    const { message, transfer } = writer.take()
    expect(message).toEqual({ numbers: new Int32Array(0), elements: [undefined, undefined, undefined], values: [] })
    expect(transfer).toEqual([message.numbers.buffer])
  })
})
