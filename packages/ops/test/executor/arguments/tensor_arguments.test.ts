import { isBackendTensor } from '@cudnn-rnn/ops'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { dtypeOf } from '../../../src/executor/arguments/dtype_of.js'
import {
  checkDimensions,
  checkHostTensor,
  checkIsHostTensor,
  checkIsTensor,
  checkShape,
  checkTensor,
  type TensorRule,
  tensorDType,
} from '../../../src/executor/index.js'
import { ids, stubTensor, zeros } from '../stub_tensor.js'

const check = (tensor: unknown, rule: Partial<TensorRule> = {}) => {
  return () => checkTensor('run forward', 'input', tensor as never, { dtype: 'float32', ...rule })
}
const refusal = (code: string, name: string) => coded(code, { name, argument: 'input' })

describe('checkTensor', () => {
  it('takes host and backend tensors that fit, with free dimensions', () => {
    expect(check(zeros(2, 3), { shape: ['B', 3] })).not.toThrow()
    expect(check(stubTensor([2, 3]), { shape: [2, 'I'] })).not.toThrow()
    expect(check(zeros())).not.toThrow()
  })

  it.each([
    [null, 'value is null'],
    [undefined, 'value is undefined'],
    [3, 'value is 3'],
    [[1, 2], 'value is an array of 2'],
    [{ data: new Float32Array(1) }, 'value is an object with the fields data'],
    [{ data: [1], shape: [1] }, 'data is an array of 1. Float32Array.from() makes it a typed one.'],
    [{ data: 'x', shape: [1] }, 'data is "x"'],
    [{ data: new Float32Array(1), shape: Int32Array.of(1) }, 'shape is a Int32Array of 1 elements'],
  ])('refuses %j as no tensor: %s', (value, current) => {
    expect(check(value)).toThrow(refusal('ERR_NOT_A_TENSOR', 'TypeError'))
    expect(check(value)).toThrow(`current ${current}`)
  })

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

describe('checkIsTensor', () => {
  const take = (given: unknown) => checkIsTensor('add', 'a', given as never)

  it('returns a backend tensor itself, and of a host tensor its shape and a view of its elements', () => {
    const tensor = stubTensor([2])
    expect(take(tensor)).toBe(tensor)
    const host = zeros(2, 3)
    const taken = take(host) as typeof host
    expect(taken).not.toBe(host)
    host.shape[0] = 9
    host.data[5] = 7
    expect(taken.shape).toEqual([2, 3])
    expect(taken.data[5]).toBe(7)
  })

  it.each([
    ['a typed array alone', new Float32Array(2)],
    ['an array of numbers', { data: [1, 2], shape: [2] }],
    ['a DataView', { data: new DataView(new ArrayBuffer(8)), shape: [2] }],
    ['a shape that is a typed array', { data: new Float32Array(2), shape: Int32Array.of(2) }],
    ['more than 64 dimensions', { data: new Float32Array(1), shape: new Array(65).fill(1) }],
    ['a backend tensor without a shape', { ...stubTensor([2]), shape: undefined }],
  ])('refuses %s', (_, given) => {
    expect(() => take(given)).toThrow(coded('ERR_NOT_A_TENSOR', { name: 'TypeError', argument: 'a' }))
  })

  it('keeps the error of a getter as the cause', () => {
    const cause = new Error('getter')
    const given = {
      shape: [1],
      get data() {
        throw cause
      },
    }
    expect(() => take(given)).toThrow(coded('ERR_NOT_A_TENSOR', { cause }))
  })

  it.each([[[1.5]], [[-1]], [[2 ** 53]], [['2']], [[undefined]], [new Array(1)], [[2n]]])(
    'refuses the shape %o by the rule of dimensions',
    (shape) => {
      const message = expect.stringContaining('every dimension of a must be an integer >= 0')
      expect(() => take({ data: new Float32Array(2), shape })).toThrow(coded('ERR_SHAPE', { message }))
    },
  )

  it('takes elements of any type: their rule is that of the dtype', () => {
    expect(take({ data: new Uint8Array(2), shape: [2] })).toEqual({ data: new Uint8Array(2), shape: [2] })
  })

  it('takes a tensor without elements, whose buffer was not transferred', () => {
    expect(take(zeros(0, 5))).toEqual(zeros(0, 5))
    const { data, shape } = zeros(2)
    structuredClone(data, { transfer: [data.buffer as ArrayBuffer] })
    expect(() => take({ data, shape })).toThrow(coded('ERR_TENSOR_TRANSFERRED', { expected: 2, actual: 0 }))
  })
})

describe('checkIsHostTensor and checkHostTensor', () => {
  it('refuse a backend tensor with the way to its elements', () => {
    const message = expect.stringMatching(/must be a host tensor: .* read\(\) it first\.$/)
    expect(() => checkIsHostTensor('add', 'a', stubTensor([2]))).toThrow(coded('ERR_NOT_A_TENSOR', { message }))
    expect(() => checkHostTensor('make a tensor', 'float32', stubTensor([2]) as never)).toThrow(
      coded('ERR_NOT_A_TENSOR', { argument: 'host' }),
    )
  })

  it('return the dtype: the floating type of the executor or int32', () => {
    expect(checkHostTensor('make a tensor', 'float32', zeros(2)).dtype).toBe('float32')
    expect(checkHostTensor('make a tensor', 'float64', ids(2)).dtype).toBe('int32')
    for (const [own, data] of [
      ['float64', new Float32Array(2)],
      ['float32', new Float64Array(2)],
      ['float32', new Uint32Array(2)],
    ] as const) {
      const refusal = coded('ERR_DTYPE', { expected: own, actual: data.constructor.name })
      expect(() => checkHostTensor('make a tensor', own, { data, shape: [2] } as never)).toThrow(refusal)
    }
  })
})

describe('checkDimensions', () => {
  it('copies a shape, of a scalar too', () => {
    const shape = [2, 0]
    const checked = checkDimensions('make zeros', shape)
    shape[0] = 9
    expect(checked).toEqual([2, 0])
    expect(checkDimensions('make zeros', [])).toEqual([])
  })

  it.each([undefined, 3, '23', Int32Array.of(2), [-1], [0.5], [Number.NaN], ['2'], new Array(65).fill(1)])(
    'refuses %o',
    (shape) => {
      expect(() => checkDimensions('make zeros', shape as never)).toThrow(
        coded('ERR_SHAPE', { message: expect.stringContaining('its shape must be an array of integers >= 0') }),
      )
    },
  )
})

describe('checkShape', () => {
  it('shows the shape of one sequence as a batch', () => {
    const advice = 'current shape is [20,1]. A batch of this one row has shape [20,1,1]'
    expect(() => checkShape('predict', 'input', [20, 1], ['T', 'B', 1])).toThrow(advice)
    expect(() => checkShape('predict', 'input', [20, 2], ['T', 'B', 1])).toThrow(/current shape is \[20,2\]$/)
  })

  it('compares ranks and fixed sizes; letters stand for any size', () => {
    checkShape('add', 'a', [0, 3], ['N', 3])
    checkShape('add', 'a', [], [])
    for (const [shape, expected] of [
      [[3], ['N', 3]],
      [
        [2, 3, 1],
        ['N', 3],
      ],
      [
        [2, 4],
        ['N', 3],
      ],
      [[], ['N']],
    ] as const) {
      expect(() => checkShape('add', 'a', shape, expected)).toThrow(
        coded('ERR_SHAPE', { argument: 'a', expected, actual: shape }),
      )
    }
  })
})
