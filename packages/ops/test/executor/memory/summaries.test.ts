import { createRnnDescriptor, layoutKey } from '@cudnn-rnn/canonical'
import type { Backend, Rnn } from '@cudnn-rnn/ops'
import { describe, expect, it } from 'vitest'
import { backendSummary, Lifetime, rnnSummary, tensorSummary } from '../../../src/executor/index.js'
import { stubTensor } from '../stub_tensor.js'

const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 2, inputSize: 3 })

describe('summaries', () => {
  it('of a tensor have its kind and state', () => {
    expect(tensorSummary(stubTensor([2], { layout: 'gru' }))).toEqual({
      ...{ kind: 'BackendTensor', shape: [2], dtype: 'float32', layout: 'gru', state: 'live' },
    })
    expect(tensorSummary(stubTensor([2], { disposed: true })).state).toBe('disposed')
  })

  it('of a network state its end, and that of its executor', () => {
    const executor = new Lifetime('backend')
    const rnn = { descriptor, paramsSize: 42 } as unknown as Rnn
    const [first, second] = [new Lifetime('rnn', executor), new Lifetime('rnn', executor)]
    first.end()
    const common = { kind: 'Rnn', network: layoutKey(descriptor), paramsSize: 42 }
    expect(rnnSummary(rnn, first)).toEqual({ ...common, state: 'disposed' })
    expect(rnnSummary(rnn, second)).toEqual({ ...common, state: 'live' })
    executor.end()
    expect(rnnSummary(rnn, second)).toEqual({ ...common, state: 'disposed' })
  })

  it('of an executor count its tensors now', () => {
    let tensors = 1
    const stats = () => ({ tensors, bytes: 8 * tensors, tapes: 0, rnns: 0, steppers: 0 })
    const backend = { name: 'own', dtype: 'float64', stats } as unknown as Backend
    expect(backendSummary(backend, new Lifetime('backend'))).toMatchObject({ tensors: 1, bytes: 8, state: 'live' })
    tensors = 3
    expect(backendSummary(backend, new Lifetime('backend'))).toEqual({
      ...{ kind: 'Backend', name: 'own', dtype: 'float64', tensors: 3, bytes: 24, state: 'live' },
    })
  })
})
