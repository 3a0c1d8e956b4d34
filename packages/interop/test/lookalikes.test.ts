import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { importWeights, type WeightFile } from '../src/index.js'

type Shapes = Readonly<Record<string, readonly number[]>>

function fileOf(shapes: Shapes): WeightFile {
  const tensors = Object.entries(shapes).map(([name, shape]) => ({
    name,
    shape,
    dtype: 'float32',
    read: async () => new Float32Array(shape.reduce((count, size) => count * size, 1)),
  }))
  return { format: 'npz', path: 'made', tensors, close: async () => undefined }
}

const known: Shapes = { 'rnn.weight_ih_l0': [8, 3], 'rnn.weight_hh_l0': [8, 2] }

describe('importWeights of a file without a known network', () => {
  it.each<[string, Shapes]>([
    ['names of g2p_en without biases', { enc_w_ih: [768, 256], enc_w_hh: [768, 256] }],
    ['names of Gluon', { lstm0_l0_i2h_weight: [8, 3], lstm0_l0_h2h_weight: [8, 2] }],
    ['names of Haiku', { 'lstm/linear/w': [5, 8], 'lstm/linear/b': [8] }],
    ['a pair of matrices of no name', { a: [8, 3], b: [8, 2], c: [8] }],
    ['a pair of transposed matrices', { 'x.u.w': [3, 6], 'x.v.w': [2, 6] }],
    ['matrices of one gate each, by their letters', { W_xi: [3, 2], W_hi: [2, 2], W_xf: [3, 2], W_hf: [2, 2] }],
    ['a cell of Flax in an unknown container', { 'hf/kernel/0': [2, 2], 'hi/kernel/0': [2, 2] }],
    ['a ConvLSTM', { 'ConvLSTM.conv.weight': [8, 5, 3, 3] }],
  ])('refuses %s and names its tensors', async (_, shapes) => {
    const [name = ''] = Object.keys(shapes)
    await expect(importWeights(fileOf(shapes))).rejects.toThrow(
      coded('ERR_WEIGHTS_UNRECOGNIZED', { message: expect.stringContaining(`${name} [${shapes[name]}]`) }),
    )
  })

  it.each<[string, Shapes]>([
    ['dense layers', { 'fc1.weight': [16, 4], 'fc2.weight': [4, 16], 'fc2.bias': [4], 'congruence.weight': [3, 3] }],
    ['nothing', {}],
  ])('gives an empty list for %s', async (_, shapes) => {
    const { networks, unusedTensors } = await importWeights(fileOf(shapes))
    expect([networks.length, unusedTensors.length]).toEqual([0, Object.keys(shapes).length])
  })

  it.each<[string, Shapes]>([
    ['unknown names', { 'dec.i2h.weight': [8, 3], 'dec.h2h.weight': [8, 2] }],
    ["PyTorch's names, one matrix of which is transposed", { 'dec.weight_ih_l0': [8, 3], 'dec.weight_hh_l0': [2, 8] }],
    ["Keras' names, without its kernel", { 'dec/recurrent_kernel:0': [2, 8] }],
  ])('refuses a second network of %s, unless the first is named', async (_, second) => {
    const file = fileOf({ ...known, ...second })
    await expect(importWeights(file)).rejects.toThrow(coded('ERR_WEIGHTS_UNRECOGNIZED'))
    expect((await importWeights(file, { only: ['rnn'] })).networks).toHaveLength(1)
    const beside = fileOf({ ...known, 'rnn_head.up.weight': [8, 2], 'rnn_head.down.weight': [2, 8] })
    expect((await importWeights(beside)).networks).toHaveLength(1)
  })

  it('takes tensors renamed by hand', async () => {
    const file = fileOf({ enc_w_ih: [9, 4], enc_w_hh: [9, 3], enc_b_ih: [9], enc_b_hh: [9] })
    const renamed = file.tensors.map((tensor) => ({
      ...tensor,
      name: `${tensor.name.replace(/^enc_w/, 'weight').replace(/^enc_b/, 'bias')}_l0`,
    }))
    const { networks } = await importWeights({ ...file, tensors: renamed })
    expect(networks).toMatchObject([{ descriptor: { cellMode: 'gru', numUnits: 3, inputSize: 4 } }])
  })
})
