import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { importWeights, type WeightFile } from '../src/index.js'

type Shapes = Readonly<Record<string, readonly number[]>>

function fileOf(format: WeightFile['format'], shapes: Shapes): WeightFile {
  const tensors = Object.entries(shapes).map(([name, shape]) => ({
    name,
    shape,
    dtype: 'float32',
    read: async () => new Float32Array(elementCount(shape)),
  }))
  return { format, path: 'made', tensors, close: async () => undefined }
}

const pytorch: Shapes = { 'rnn.weight_ih_l0': [8, 3], 'rnn.weight_hh_l0': [8, 2] }
const cell: Shapes = { 'c.weight_ih': [8, 3], 'c.weight_hh': [8, 2], 'c.bias_ih': [8], 'c.bias_hh': [8] }
const adapted: Shapes = { 'rnn.base_layer.weight_ih_l0': [8, 3], 'rnn.base_layer.weight_hh_l0': [8, 2] }
const flax: Shapes = Object.fromEntries(
  [...'ifgo'].flatMap((gate) => [
    [`c/i${gate}/kernel`, [3, 2]],
    [`c/h${gate}/kernel`, [2, 2]],
    [`c/h${gate}/bias`, [2]],
  ]),
)
const tensorflow: Shapes = { 'rnn/lstm_cell/kernel': [5, 8], 'rnn/lstm_cell/bias': [8] }

describe('importWeights of a network that leaves tensors of its scope unread', () => {
  it.each<[string, WeightFile['format'], Shapes, Shapes, 'pytorch' | 'flax' | 'tensorflow' | 'mlx']>([
    ['a bias of another name', 'pytorch', pytorch, { 'rnn.bias': [8] }, 'pytorch'],
    ['a bias alone in a scope', 'pytorch', pytorch, { 'rnnx.bias': [8] }, 'pytorch'],
    ['a module within', 'pytorch', pytorch, { 'rnn.norm.weight': [8] }, 'pytorch'],
    ['a normalization of a cell', 'safetensors', cell, { 'c.ln_ih.weight': [8], 'c.ln_ih.bias': [8] }, 'pytorch'],
    ['a bias of names of cs231n', 'npz', { Wx: [3, 8], Wh: [2, 8] }, { b: [8] }, 'mlx'],
    ['peepholes', 'npz', cell, { 'c.weight_ch': [6, 2] }, 'pytorch'],
    ['an adapter of a matrix', 'pytorch', pytorch, { 'rnn.weight_ih_l0.lora_A': [1, 3] }, 'pytorch'],
    ['an adapter of a layer', 'safetensors', adapted, { 'rnn.lora_A.default.weight': [1, 3] }, 'pytorch'],
    ['a gate more', 'flax', flax, { 'c/it/kernel': [3, 2] }, 'flax'],
    ['a normalization of a variable', 'tensorflow', tensorflow, { 'rnn/lstm_cell/input/gamma': [2] }, 'tensorflow'],
  ])('requires the option convention beside %s', async (_, format, network, extra, convention) => {
    const file = fileOf(format, { ...network, ...extra })
    const [name = ''] = Object.keys(extra)
    await expect(importWeights(file)).rejects.toThrow(
      coded('ERR_WEIGHTS_AMBIGUOUS', { decidedBy: ['convention'], message: expect.stringContaining(name) }),
    )
    const { networks } = await importWeights(file, { convention })
    expect(networks).toMatchObject([{ convention, notes: expect.arrayContaining([expect.stringContaining(name)]) }])
  })

  it.each<[string, WeightFile['format'], Shapes]>([
    ['layers around it', 'pytorch', { ...pytorch, 'fc.weight': [2, 2], 'rnnx.weight': [8, 2], 'rnnx.bias': [8] }],
    ['what exportWeights writes below its name', 'pytorch', { ...pytorch, 'rnn.embedding.weight': [9, 3] }],
    ['a network within', 'pytorch', { ...pytorch, 'rnn.inner.weight_ih_l0': [6, 3], 'rnn.inner.weight_hh_l0': [6, 2] }],
    ['averages', 'tensorflow', { ...tensorflow, 'rnn/lstm_cell/kernel/ExponentialMovingAverage': [5, 8] }],
  ])('takes it beside %s', async (_, format, shapes) => {
    expect((await importWeights(fileOf(format, shapes))).networks.length).toBeGreaterThan(0)
  })

  it('imports another network by name', async () => {
    const file = fileOf('pytorch', { ...pytorch, 'rnn.bias': [8], ...cell })
    const { networks } = await importWeights(file, { only: ['c'] })
    expect(networks.map(({ name }) => name)).toEqual(['c'])
  })
})
