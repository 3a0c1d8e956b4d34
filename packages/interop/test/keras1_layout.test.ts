import { describe, expect, it } from 'vitest'
import { ofKeras2 } from '../src/files/keras1_layout.js'
import { importWeights, type WeightFile } from '../src/index.js'

/** A file whose tensors [2,2] or [2] begin with their number. */
function fileOf(names: readonly string[], more: Partial<WeightFile> = {}): WeightFile {
  const tensors = names.map((name, index) => {
    const shape = /_b/.test(name) ? [2] : [2, 2]
    return {
      name,
      shape,
      dtype: 'float32',
      read: async () => Float32Array.from(shape.length === 1 ? [index, -index] : [index, 1, 2, 3]),
    }
  })
  return { format: 'keras-h5', path: 'old.h5', tensors, close: async () => {}, ...more }
}

const gatesOf = (layer: string, gates: string) =>
  [...gates].flatMap((gate) => ['W', 'U', 'b'].map((kind) => `${layer}_${kind}_${gate}:0`))

describe('ofKeras2', () => {
  it('puts the gates of a layer beside each other, in the order of Keras 2', async () => {
    const { tensors } = ofKeras2(fileOf(gatesOf('lstm_1/lstm_1', 'icfo')))
    expect(tensors.map(({ name, shape }) => [name, shape])).toEqual([
      ['lstm_1/lstm_1/kernel', [2, 8]],
      ['lstm_1/lstm_1/recurrent_kernel', [2, 8]],
      ['lstm_1/lstm_1/bias', [8]],
    ])
    expect(await tensors[0]!.read()).toEqual(Float32Array.of(0, 1, 6, 1, 3, 1, 9, 1, 2, 3, 2, 3, 2, 3, 2, 3))
    expect(await tensors[2]!.read()).toEqual(Float32Array.of(2, -2, 8, -8, 5, -5, 11, -11))
  })

  it('renames options and variables by the class of their layer', () => {
    const kerasModel = {
      class_name: 'Sequential',
      config: [
        { class_name: 'Embedding', config: { name: 'e', output_dim: 2, init: 'uniform', dropout: 0 } },
        {
          class_name: 'GRU',
          config: { name: 'g', output_dim: 2, inner_activation: 'sigmoid', inner_init: 'x', dropout_U: 0.1 },
        },
      ],
    }
    const file = ofKeras2(fileOf(['e/e_W', ...gatesOf('g/g', 'zrh')], { kerasModel, kerasVersion: '1.2.2' }))
    expect(file.kerasModel).toEqual({
      class_name: 'Sequential',
      config: [
        { class_name: 'Embedding', config: { name: 'e', output_dim: 2 } },
        { class_name: 'GRU', config: { name: 'g', units: 2, recurrent_activation: 'sigmoid', recurrent_dropout: 0.1 } },
      ],
    })
    expect(file.tensors.map(({ name }) => name)).toEqual([
      'e/e/embeddings',
      'g/g/kernel',
      'g/g/recurrent_kernel',
      'g/g/bias',
    ])
  })

  it('gives weights alone hard_sigmoid gates, the default of these years', async () => {
    const { cells, networks } = await importWeights(ofKeras2(fileOf(gatesOf('lstm_1/lstm_1', 'icfo'))))
    expect(networks).toEqual([])
    expect(cells).toMatchObject([{ name: 'lstm_1', options: { recurrentActivation: 'hard_sigmoid' } }])
  })

  it.each([
    ['an incomplete set of gates', fileOf(gatesOf('lstm_1/lstm_1', 'icf'))],
    ['a file of Keras 2', fileOf(gatesOf('lstm_1/lstm_1', 'icfo'), { kerasVersion: '2.1.6' })],
  ])('leaves %s as it is, which importWeights refuses', async (_, file) => {
    expect(
      ofKeras2(file)
        .tensors.map(({ name }) => name)
        .sort(),
    ).toEqual(file.tensors.map(({ name }) => name).sort())
    await expect(importWeights(ofKeras2(file))).rejects.toMatchObject({ code: 'ERR_WEIGHTS_UNRECOGNIZED' })
  })

  it('turns kernels of convolutions of Theano, which reads their taps from the last to the first', async () => {
    const kernel = (name: string, shape: readonly number[]) => ({
      name,
      shape,
      dtype: 'float32',
      read: async () => Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => k),
    })
    const names = ['c/c/kernel:0', 'l/l/recurrent_kernel:0', 'e/e/embeddings:0']
    const tensors = [...names.map((name) => kernel(name, [3, 1, 2])), kernel('d/d/kernel:0', [3, 2])]
    const written: WeightFile = { ...fileOf([]), kerasVersion: '2.1.6', tensors }
    const read = async (backend?: string) =>
      Promise.all(ofKeras2(written, backend).tensors.map(async (each) => [...(await each.read())]))
    const [plain, turned] = [
      [0, 1, 2, 3, 4, 5],
      [4, 5, 2, 3, 0, 1],
    ]
    for (const backend of ['tensorflow', 'cntk', undefined])
      expect(await read(backend)).toEqual([plain, plain, plain, plain])
    expect(await read('theano')).toEqual([turned, turned, plain, plain])
  })

  it('refuses weights of Keras before 1.0', () => {
    expect(() => ofKeras2(fileOf(['layer_0/param_0', 'layer_0/param_1']))).toThrow(/before 1\.0\. Load them there/)
  })
})
