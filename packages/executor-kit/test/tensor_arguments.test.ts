import { dtypeOf, isBackendTensor } from '@cudnn-rnn/backend'
import { describe, expect, it } from 'vitest'
import { checkTensor, type TensorRule, tensorDType } from '../src/index.js'
import { ids, stubTensor, zeros } from './stub_tensor.js'

const check = (tensor: unknown, rule: Partial<TensorRule> = {}) => {
  return () => checkTensor('run forward', 'input', tensor as never, { dtype: 'float32', ...rule })
}
const refusal = (code: string, name: string) => expect.objectContaining({ code, name, argument: 'input' })

describe('checkTensor', () => {
  it('takes host and backend tensors that fit, with free dimensions', () => {
    expect(check(zeros(2, 3), { shape: ['B', 3] })).not.toThrow()
    expect(check(stubTensor([2, 3]), { shape: [2, 'I'] })).not.toThrow()
    expect(check(zeros())).not.toThrow()
  })

  it.each([null, undefined, 3, [1, 2], { data: [1], shape: [1] }, { data: new Float32Array(1) }])(
    'refuses %j as no tensor',
    (value) => {
      expect(check(value)).toThrow(refusal('ERR_NOT_A_TENSOR', 'TypeError'))
    },
  )

  it('refuses another dtype, naming both', () => {
    expect(check(ids(2))).toThrow(refusal('ERR_DTYPE', 'TypeError'))
    expect(check(stubTensor([2], { dtype: 'float64' }))).toThrow(/must be float32: current type is float64/)
    expect(check({ data: new Uint8Array(1), shape: [1] })).toThrow(/current type is Uint8Array/)
  })

  it('refuses another rank, another size, and a shape its elements do not fill', () => {
    expect(check(zeros(2, 3), { shape: [2, 3, 1] })).toThrow(refusal('ERR_SHAPE', 'RangeError'))
    expect(check(zeros(2, 3), { shape: ['B', 4] })).toThrow(/must have shape \[B,4\]: current shape is \[2,3\]/)
    expect(check({ data: new Float32Array(5), shape: [2, 3] })).toThrow(refusal('ERR_SHAPE', 'RangeError'))
    expect(check({ data: new Float32Array(2), shape: [-1, -2] })).toThrow(refusal('ERR_SHAPE', 'RangeError'))
    expect(check({ data: new Float32Array(2), shape: [Number.NaN] })).toThrow(refusal('ERR_SHAPE', 'RangeError'))
  })

  it('refuses a disposed tensor', () => {
    expect(check(stubTensor([2], { disposed: true }))).toThrow(refusal('ERR_TENSOR_DISPOSED', 'RangeError'))
  })

  it('refuses the opaque parameters of another network, and takes buffers without a layout', () => {
    const rule = { layout: 'lstm' }
    expect(check(stubTensor([2], { layout: 'gru' }), rule)).toThrow(refusal('ERR_OTHER_LAYOUT', 'RangeError'))
    expect(check(stubTensor([2], { layout: 'lstm' }), rule)).not.toThrow()
    expect(check(stubTensor([2]), rule)).not.toThrow()
    expect(check(zeros(2), rule)).not.toThrow()
  })
})

describe('tensorDType, dtypeOf and isBackendTensor', () => {
  it('distinguish kinds of tensors and their dtypes', () => {
    expect(tensorDType(ids(1))).toBe('int32')
    expect(tensorDType(stubTensor([1], { dtype: 'float64' }))).toBe('float64')
    expect(dtypeOf(new Uint8Array(1))).toBeUndefined()
    expect(isBackendTensor(stubTensor([1]))).toBe(true)
    expect(isBackendTensor(zeros(1))).toBe(false)
    expect(isBackendTensor(null)).toBe(false)
  })
})
