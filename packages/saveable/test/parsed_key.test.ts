import { describe, expect, it } from 'vitest'
import { ownsKey, parseKey, scopesOfRelease13 } from '../src/parsed_key.js'
import { DEFAULT_NAME, type StorageForm } from '../src/storage_form.js'

const NONE = new Set<string>()
const LSTM = 'cudnn_compatible_lstm_cell'
const GRU = 'cudnn_compatible_gru_cell'

describe('parseKey', () => {
  it.each<[string, StorageForm, string]>([
    ['encoder/layer_0/forward/weight_3', 'default', 'encoder'],
    ['model/encoder/layer_12/backward/bias_10', 'default', 'model/encoder'],
    // The name of a slot is a name too: its tensors are the moments of the network's.
    ['encoder/Adam/layer_0/forward/bias_0', 'default', 'encoder/Adam'],
    ['CudnnRNNParamsToCanonical:0', 'tf-1.2', DEFAULT_NAME],
    ['encoder/CudnnRNNParamsToCanonical:17', 'tf-1.2', 'encoder'],
    // Operations of another name have no scope that leads back to it.
    ['CudnnRNNParamsToCanonical_1:0', 'tf-1.2', 'CudnnRNNParamsToCanonical_1'],
    ['encoder/CudnnRNNParamsToCanonical_1:0', 'tf-1.2', 'encoder/CudnnRNNParamsToCanonical_1'],
    ['encoder/myCudnnRNNParamsToCanonical:0', 'tf-1.2', 'encoder/myCudnnRNNParamsToCanonical'],
    [`rnn/multi_rnn_cell/cell_0/${LSTM}/kernel`, 'cells', ''],
    [`encoder/rnn/multi_rnn_cell/cell_1/${GRU}/candidate/hidden_projection/bias`, 'cells', 'encoder'],
    ['rnn/multi_rnn_cell/cell_0/basic_rnn_cell/bias', 'cells', ''],
    [`stack_bidirectional_rnn/cell_0/bidirectional_rnn/fw/${LSTM}/kernel`, 'cells', ''],
    ['a/b/stack_bidirectional_rnn/cell_3/bidirectional_rnn/bw/basic_rnn_cell/kernel', 'cells', 'a/b'],
    [`rnn/multi_rnn_cell/cell_0/${LSTM}/projection/kernel`, 'cells', ''],
    ['opaque_kernel', 'opaque', ''],
    ['cudnn_lstm/opaque_kernel', 'opaque', 'cudnn_lstm'],
  ])('takes %s for the form %s of %s', (key, form, name) => {
    expect(parseKey(key, NONE)).toEqual({ form, name })
  })

  it.each([
    'global_step',
    'layer_0/forward/weight_0',
    'encoder/layer_0/sideways/weight_0',
    'encoder/layer_x/forward/weight_0',
    'encoder/layer_0/forward/kernel_0',
    'encoder/layer_0/forward/weight_0/Adam',
    'CudnnRNNParamsToCanonical',
    'CudnnRNNParamsToCanonical:x',
    'CudnnRNNParamsToCanonical/sub:0',
    `rnn/multi_rnn_cell/cell_0/${LSTM}/kernel/Adam`,
    `rnn/multi_rnn_cell/cell_0/${LSTM}/bias_cudnn_0`,
    'rnn/multi_rnn_cell/cell_0/lstm_cell/kernel',
    `stack_bidirectional_rnn/cell_0/bidirectional_rnn/${LSTM}/kernel`,
    `multi_rnn_cell/cell_0/${LSTM}/kernel`,
    'opaque_kernel/Adam',
    'my_opaque_kernel',
  ])('takes %s for the key of no network', (key) => {
    expect(parseKey(key, NONE)).toBeUndefined()
  })

  it.each([
    ['', `multi_rnn_cell/cell_0/${LSTM}/kernel`, DEFAULT_NAME],
    ['', `multi_rnn_cell/cell_0/${LSTM}/bias_cudnn_1`, DEFAULT_NAME],
    ['encoder', `encoder/multi_rnn_cell/cell_0/${GRU}/bias_cudnn 0`, 'encoder'],
    // The names of release 1.4 in the scope "rnn".
    ['rnn', `rnn/multi_rnn_cell/cell_0/${LSTM}/kernel`, 'rnn'],
  ])('takes the cells of the scope "%s" for those of 1.3 where it is one: %s', (scope, key, name) => {
    expect(parseKey(key, new Set([scope]))).toEqual({ form: 'tf-1.3', name })
    expect(parseKey(key, new Set(['another']))?.form).not.toBe('tf-1.3')
  })

  it('takes slots in a scope of 1.3 for the key of no network', () => {
    expect(parseKey(`multi_rnn_cell/cell_0/${LSTM}/kernel/Adam`, new Set(['']))).toBeUndefined()
    expect(parseKey(`multi_rnn_cell/cell_0/${LSTM}/bias_cudnn_2`, new Set(['']))).toBeUndefined()
  })
})

describe('scopesOfRelease13', () => {
  it('are those whose cells have both biases beside their own', () => {
    const keys = [
      'global_step',
      `multi_rnn_cell/cell_0/${LSTM}/bias_cudnn_0`,
      `a/multi_rnn_cell/cell_0/${GRU}/bias_cudnn 1`,
      `b/multi_rnn_cell/cell_0/${LSTM}/kernel`,
      `c/rnn/multi_rnn_cell/cell_0/${LSTM}/bias_cudnn_0/Adam`,
    ]
    expect([...scopesOfRelease13(keys)].sort()).toEqual(['', 'a'])
    expect(scopesOfRelease13([]).size).toBe(0)
  })
})

describe('ownsKey', () => {
  it('is so for the keys of one form and name', () => {
    const network = { form: 'default', name: 'encoder' } as const
    expect(ownsKey(network, 'encoder/layer_7/backward/bias_9')).toBe(true)
    expect(ownsKey(network, 'encoder2/layer_0/forward/bias_0')).toBe(false)
    expect(ownsKey(network, 'encoder/Adam/layer_0/forward/bias_0')).toBe(false)
    expect(ownsKey(network, 'encoder/CudnnRNNParamsToCanonical:0')).toBe(false)
    expect(ownsKey(network, 'encoder/dense/kernel')).toBe(false)
  })

  it('takes the keys of 1.2 for those of a network of 1.3, and not the other way round', () => {
    const [key12, key13] = ['encoder/CudnnRNNParamsToCanonical:0', `encoder/multi_rnn_cell/cell_0/${LSTM}/kernel`]
    expect(ownsKey({ form: 'tf-1.3', name: 'encoder' }, key12)).toBe(true)
    expect(ownsKey({ form: 'tf-1.3', name: 'encoder' }, key13)).toBe(true)
    expect(ownsKey({ form: 'tf-1.2', name: 'encoder' }, key12)).toBe(true)
    expect(ownsKey({ form: 'tf-1.2', name: 'encoder' }, key13)).toBe(false)
  })

  it('reads the cells of a scope as the form of the network has them', () => {
    const key = `rnn/multi_rnn_cell/cell_0/${LSTM}/kernel`
    expect(ownsKey({ form: 'cells', name: '' }, key)).toBe(true)
    expect(ownsKey({ form: 'tf-1.3', name: 'rnn' }, key)).toBe(true)
    expect(ownsKey({ form: 'cells', name: 'rnn' }, key)).toBe(false)
  })
})
