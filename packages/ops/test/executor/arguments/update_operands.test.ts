import { describe, expect, it } from 'vitest'
import { coded } from '../../../../../scripts/testing/coded.mjs'
import { checkUpdate } from '../../../src/executor/index.js'
import { stubTensor, zeros } from '../stub_tensor.js'

const refusal = (code: string, argument: string) => coded(code, { argument })

describe('checkUpdate', () => {
  const variable = stubTensor([4], { layout: 'lstm' })

  it('takes operands of one shape, dtype and layout', () => {
    expect(() => checkUpdate('apply SGD', 'float32', { variable, gradient: zeros(4) })).not.toThrow()
  })

  it('refuses operands that differ', () => {
    const check = (gradient: ReturnType<typeof stubTensor>) => () =>
      checkUpdate('apply SGD', 'float32', { variable, gradient })
    expect(check(stubTensor([5]))).toThrow(refusal('ERR_SHAPE', 'gradient'))
    expect(check(stubTensor([4], { dtype: 'float64' }))).toThrow(refusal('ERR_DTYPE', 'gradient'))
    expect(check(stubTensor([4], { layout: 'gru' }))).toThrow(refusal('ERR_OTHER_LAYOUT', 'gradient'))
    expect(check(stubTensor([4], { disposed: true }))).toThrow(refusal('ERR_TENSOR_DISPOSED', 'gradient'))
  })
})
