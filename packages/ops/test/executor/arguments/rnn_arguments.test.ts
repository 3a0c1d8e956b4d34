import { createRnnDescriptor, layoutKey, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import type { RnnForwardInputs } from '../../../src/executor/arguments/rnn_arguments.js'
import { checkBackwardArguments, checkForwardArguments, MAX_TIME_STEPS } from '../../../src/executor/index.js'
import { stubTensor, zeros } from '../stub_tensor.js'

const [T, B, I, H, P] = [3, 2, 5, 4, 2]
const size = { numLayers: 2, numUnits: H, inputSize: I, direction: 'bidirectional' } as const
const lstm = createRnnDescriptor({ cellMode: 'lstm', numProj: P, ...size })
const gru = createRnnDescriptor({ cellMode: 'gru', ...size })
const inputs: RnnForwardInputs = {
  input: zeros(T, B, I),
  inputH: zeros(4, B, P),
  inputC: zeros(4, B, H),
  params: zeros(7),
  sequenceLengths: [0, T],
  training: true,
}
const executor = { dtype: 'float32', owns: () => true } as const
const forward = (changes: Partial<RnnForwardInputs>, descriptor = lstm) => {
  return () => checkForwardArguments(executor, descriptor, 7, { ...inputs, ...changes })
}
const refusal = (code: string, argument?: string) =>
  expect.objectContaining(argument === undefined ? { code } : { code, argument })

describe('checkForwardArguments', () => {
  it('returns the sizes of the pass', () => {
    expect(forward({})().sizes).toEqual({ time: T, batch: B, sequenceLengths: Int32Array.of(0, T) })
    expect(forward({ inputH: null, inputC: null, sequenceLengths: null })().sizes.sequenceLengths).toBeNull()
  })

  it.each([
    ['input', zeros(T, B, I + 1)],
    ['input', zeros(T, I)],
    ['params', zeros(8)],
    ['inputH', zeros(4, B, H)],
    ['inputH', zeros(2, B, P)],
    ['inputC', zeros(4, B + 1, H)],
  ] as const)('refuses %s of a wrong shape', (name, tensor) => {
    expect(forward({ [name]: tensor })).toThrow(refusal('ERR_SHAPE', name))
  })

  it('refuses parameters of another network of equal size', () => {
    expect(forward({ params: stubTensor([7], { layout: layoutKey(gru) }) })).toThrow(refusal('ERR_OTHER_LAYOUT'))
    expect(forward({ params: stubTensor([7], { layout: layoutKey(lstm) }) })).not.toThrow()
  })

  it('refuses no steps, no rows, and more steps than cuDNN takes', () => {
    expect(forward({ input: zeros(0, B, I) })).toThrow(refusal('ERR_EMPTY_BATCH'))
    expect(forward({ input: zeros(T, 0, I) })).toThrow(refusal('ERR_EMPTY_BATCH'))
    const long = (time: number) => forward({ input: zeros(time, B, I), sequenceLengths: null })
    expect(long(MAX_TIME_STEPS)).not.toThrow()
    expect(long(MAX_TIME_STEPS + 1)).toThrow(refusal('ERR_TIME_STEPS'))
  })

  it('refuses a cell state for a cell without one', () => {
    expect(forward({ inputH: zeros(4, B, H) }, gru)).toThrow(refusal('ERR_NO_CELL_STATE', 'inputC'))
    expect(forward({ inputH: zeros(4, B, H), inputC: null }, gru)).not.toThrow()
  })

  it('refuses lengths of a wrong count, outside 0..T, not integers, not an array', () => {
    for (const sequenceLengths of [[1], [1, 2, 3], [0, T + 1], [-1, 1], [0.5, 1], [Number.NaN, 1]]) {
      expect(forward({ sequenceLengths })).toThrow(coded('ERR_SEQUENCE_LENGTHS', { name: 'RangeError' }))
    }
    expect(forward({ sequenceLengths: 'T' as never })).toThrow(coded('ERR_SEQUENCE_LENGTHS', { name: 'TypeError' }))
    expect(forward({ sequenceLengths: [0, T + 1] })).toThrow(/lengths\[1\] must be an integer in 0\.\.3/)
  })

  it('copies the lengths, and takes lengths that are all T as none', () => {
    const lengths = Int32Array.of(1, 2)
    const checked = forward({ sequenceLengths: lengths })().sizes.sequenceLengths
    lengths[0] = 3
    expect(checked).toEqual(Int32Array.of(1, 2))
    expect(forward({ sequenceLengths: [T, T] })().sizes.sequenceLengths).toBeNull()
  })
})

describe('arguments that change while they are read', () => {
  it('are read once: the checked values are returned', () => {
    let reads = 0
    const input = {
      shape: [T, B, I],
      get data() {
        return ++reads === 1 ? new Float32Array(T * B * I) : new Float32Array(1)
      },
    }
    const { operands } = forward({ input })()
    expect(reads).toBe(1)
    expect(operands.input).toEqual(zeros(T, B, I))
  })

  it('ignore overridden properties of arrays and subclasses', () => {
    const lengths = Object.assign([1e8, -5], { entries: () => [][Symbol.iterator](), every: () => true })
    expect(forward({ sequenceLengths: lengths })).toThrow(refusal('ERR_SEQUENCE_LENGTHS'))
    const short = Object.defineProperty(new Float32Array(1), 'length', { value: T * B * I })
    expect(forward({ input: { data: short, shape: [T, B, I] } })).toThrow(refusal('ERR_SHAPE', 'input'))
    class Odd extends Float32Array {
      static get [Symbol.species]() {
        return Array as never
      }
    }
    const { input } = forward({ input: { data: new Odd(T * B * I), shape: [T, B, I] } })().operands
    expect(Object.getPrototypeOf('data' in input && input.data)).toBe(Float32Array.prototype)
  })

  it('are copied where another thread may write them', () => {
    const data = new Float32Array(new SharedArrayBuffer(4 * T * B * I)) as unknown as Float32Array<ArrayBuffer>
    const { input } = forward({ input: { data, shape: [T, B, I] } })().operands
    expect((input as Tensor).data.buffer).toBeInstanceOf(ArrayBuffer)
  })

  it('are refused by name once they were transferred', () => {
    const { data, shape } = zeros(T, B, I)
    structuredClone(data.buffer, { transfer: [data.buffer as ArrayBuffer] })
    expect(forward({ input: { data, shape } })).toThrow(refusal('ERR_TENSOR_TRANSFERRED', 'input'))
  })
})

describe('checkBackwardArguments', () => {
  const sizes = { time: T, batch: B, sequenceLengths: null }
  const backward = (gradients: object, descriptor = lstm) => {
    return () => checkBackwardArguments(executor, descriptor, sizes, gradients)
  }

  it('takes any part of the output gradients', () => {
    expect(backward({})).not.toThrow()
    expect(backward({ output: zeros(T, B, 2 * P), outputH: zeros(4, B, P), outputC: zeros(4, B, H) })).not.toThrow()
  })

  it.each([
    ['output', zeros(T, B, 2 * H)],
    ['outputH', zeros(4, B, H)],
    ['outputC', zeros(4, B, P)],
  ])('refuses %s of a wrong shape', (name, tensor) => {
    expect(backward({ [name]: tensor })).toThrow(refusal('ERR_SHAPE', name))
  })

  it('refuses outputC for a cell without a cell state', () => {
    expect(backward({ outputC: zeros(4, B, H) }, gru)).toThrow(refusal('ERR_NO_CELL_STATE', 'outputC'))
  })
})
