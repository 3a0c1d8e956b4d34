import { fileURLToPath } from 'node:url'
import { importWeights, openWeightFile, type WeightFile } from '@cudnn-rnn/interop'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  conv1d,
  cudnnGRU,
  cudnnLSTM,
  dense,
  embedding,
  layerNorm,
  layerWeights,
  multiHeadAttention,
  sequential,
} from '../src/index.js'

const FOLDER = fileURLToPath(new URL('../../../fixtures/interop/', import.meta.url))
const wave = { data: Float32Array.from({ length: 20 }, (_, t) => Math.sin(0.3 * t)), shape: [20, 1, 1] }

// The numbers that the frameworks printed: docs/cookbook/bring_your_model.md.
test.each([
  ['PyTorch', 'sine.pt', 'model.head', -0.28292],
  ['TensorFlow 1', 'sine', 'head', -0.27898],
  ['Flax', 'sine.msgpack', 'params/head', -0.27554],
])('a network and a linear layer of %s are two layers', async (_, name, head, last) => {
  await using file = await openWeightFile(`${FOLDER}guide/${name}`)
  const network = (await importWeights(file)).network()
  using backend = openReferenceBackend({ dtype: 'float64' })
  using model = sequential(backend, [cudnnLSTM({ network }), dense(await layerWeights('dense', file, head))])
  const { data } = await model.predict({ data: Float64Array.from(wave.data), shape: wave.shape })
  expect(data[19]).toBeCloseTo(last, 4)
})

// The numbers that PyTorch printed.
test('modules around a network of PyTorch are layers without a size that is typed', async () => {
  await using file = await openWeightFile(`${FOLDER}guide/tagger.pt`)
  using backend = openReferenceBackend({ dtype: 'float64' })
  using model = sequential(backend, [
    embedding(await layerWeights('embedding', file, 'embed')),
    conv1d({ ...(await layerWeights('conv1d', file, 'conv')), padding: 1 }),
    dense({ ...(await layerWeights('batchNorm', file, 'bn')), activation: 'relu' }),
    cudnnLSTM({ network: (await importWeights(file)).network() }),
    layerNorm(await layerWeights('layerNorm', file, 'norm')),
    dense(await layerWeights('dense', file, 'tags')),
  ])
  const [scores] = await model.predict([Array.from({ length: 9 }, (_, t) => (t * 7) % 12)])
  const expected = [-4.091680526733398, -2.7587366104125977, 5.248592376708984]
  expect([...scores!.data.slice(-3)]).toEqual(expected.map((value) => expect.closeTo(value, 5)))
})

// The numbers that PyTorch printed for MultiheadAttention(2, 2), whose tensors are sin(1), sin(2), ….
test('attention of PyTorch is attention, and a key of no step is refused', async () => {
  const shapes = {
    'a.in_proj_weight': [6, 2],
    'a.in_proj_bias': [6],
    'a.out_proj.weight': [2, 2],
    'a.out_proj.bias': [2],
  }
  using backend = openReferenceBackend({ dtype: 'float64' })
  const weights = await layerWeights('multiHeadAttention', fileOf(shapes, Math.sin), 'a')
  using model = sequential(backend, [multiHeadAttention({ heads: 2, keySize: 1, ...weights })], { inputSize: 2 })
  const { data } = await model.predict({
    data: Float64Array.from({ length: 6 }, (_, k) => Math.sin(k)),
    shape: [3, 1, 2],
  })
  const expected = [-0.36933434, 1.22380269, -0.63464391, 1.45216036, -0.79723048, 1.49492383]
  expect([...data]).toEqual(expected.map((value) => expect.closeTo(value, 6)))

  const added = fileOf({ ...shapes, 'a.bias_k': [1, 1, 2] })
  await expect(layerWeights('multiHeadAttention', added, 'a')).rejects.toThrow(coded('ERR_INVALID_OPTION'))
})

test('initial values are those of variables that exist', () => {
  using backend = openReferenceBackend()
  const build = (name: string) => {
    const layer = multiHeadAttention({
      heads: 1,
      keySize: 2,
      initializers: { [name]: { data: new Float32Array(2), shape: [2] } },
    })
    sequential(backend, [layer], { inputSize: 2 })
  }
  expect(() => build('kernel')).toThrow(coded('ERR_INVALID_OPTION', { option: 'initializers', value: 'kernel' }))
  expect(() => build('query')).toThrow(coded('ERR_SHAPE'))
})

/** An open file of tensors whose elements are 1, 2, …, or a function of these. */
const fileOf = (shapes: Readonly<Record<string, readonly number[]>>, of = (k: number) => k) => {
  const tensors = Object.entries(shapes).map(([name, shape]) => {
    const read = async () => Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => of(k + 1))
    return { name, shape, dtype: 'F32', read }
  })
  return { tensors } as unknown as WeightFile
}

test.each([
  ['embedding', { 'a/embedding': [3, 2] }, { size: 3, units: 2 }],
  ['embedding', { 'a/vars/0': [3, 2] }, { size: 3, units: 2 }],
  ['conv1d', { 'a/kernel': [3, 2, 4] }, { filters: 4, kernelSize: 3, biasInitializer: 0 }],
  ['conv1d', { 'a.weight': [4, 2, 3], 'a.bias': [4] }, { filters: 4, kernelSize: 3 }],
  ['layerNorm', { 'a/scale': [2], 'a/bias': [2] }, { epsilon: 1e-6 }],
  ['layerNorm', { 'a/gamma': [2] }, { epsilon: 1e-3, betaInitializer: 0 }],
  ['batchNorm', { 'a/moving_mean': [2], 'a/moving_variance': [2] }, { units: 2 }],
] as const)('%s of %j', async (kind, shapes, expected) => {
  expect(await layerWeights(kind, fileOf(shapes), 'a')).toMatchObject(expected)
})

test('a batch normalization is a factor and an offset of each column', async () => {
  const file = fileOf({ 'a.running_mean': [2], 'a.running_var': [2], 'a.weight': [2], 'a.bias': [2] })
  const { kernelInitializer, biasInitializer } = await layerWeights('batchNorm', file, 'a')
  const factors = [1, 2].map((value) => value / Math.sqrt(value + 1e-5))
  expect([...kernelInitializer.data]).toEqual([factors[0], 0, 0, factors[1]])
  expect(biasInitializer).toEqual({
    data: Float64Array.from(factors, (factor, k) => (k + 1) * (1 - factor)),
    shape: [2],
  })
})

// The numbers that PyTorch printed for tensors sin(1), sin(2), …; of `dim=None` there is one length.
test.each([
  ['a.weight_g', 'a.weight_v', [2, 1], [0.56785783, 0.61362979, 0.09523335, -0.54914758, -0.69581026, -0.2027482]],
  [
    'a.parametrizations.weight.original0',
    'a.parametrizations.weight.original1',
    [2, 1],
    [0.56785783, 0.61362979, 0.09523335, -0.54914758, -0.69581026, -0.2027482],
  ],
  [
    'a.parametrizations.weight.original0',
    'a.parametrizations.weight.original1',
    [],
    [0.40053599, 0.43282104, 0.06717242, -0.36023421, -0.45644317, -0.13300038],
  ],
])('%s and %s of weight_norm %j are a weight', async (lengths, rows, shape, expected) => {
  const file = fileOf({ [lengths]: shape, [rows]: [2, 3], 'a.bias': [2] }, Math.sin)
  const { units, kernelInitializer } = await layerWeights('dense', file, 'a')
  const { data } = kernelInitializer
  expect(units).toBe(2)
  expect([0, 2, 4, 1, 3, 5].map((place) => data[place])).toEqual(expected.map((each) => expect.closeTo(each, 6)))
})

it.each([
  [{ 'module.fc.weight': [3, 2] }, /Names: module\.fc$/],
  [
    { 'fc.parametrizations.weight.original': [3, 2], 'fc2.weight': [2, 2] },
    /Its tensors: fc\.parametrizations\.weight\.original$/,
  ],
])('a refusal names the layers or the tensors of %j', async (shapes, message) => {
  await expect(layerWeights('dense', fileOf(shapes), 'fc')).rejects.toThrow(message)
})

it('refuses a name that no layer of the kind has', async () => {
  await using file = await openWeightFile(`${FOLDER}guide/sine.pt`)
  await expect(layerWeights('dense', file, 'head')).rejects.toThrow(coded('ERR_INVALID_OPTION', { option: 'name' }))
  await expect(layerWeights('embedding', fileOf({ 'a.weight': [2] }), 'a')).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  await expect(layerWeights('lstm' as never, file, 'a')).rejects.toThrow(coded('ERR_INVALID_OPTION'))
})

test('a layer refuses a network that it does not compute', async () => {
  const network = (await importWeights(`${FOLDER}guide/sine.pt`)).network()
  expect(() => cudnnGRU({ network })).toThrow(coded('ERR_INVALID_OPTION', { option: 'network' }))
  for (const more of [{ reverse: true }, { inputs: { sequenceLengths: [1] } }]) {
    expect(() => cudnnLSTM({ network: { ...network, ...more } })).toThrow(coded('ERR_INVALID_OPTION'))
  }
  expect(() => cudnnLSTM({ network, numUnits: 8 } as never)).toThrow(
    coded('ERR_UNKNOWN_OPTION', { option: 'numUnits' }),
  )
  expect(() => cudnnLSTM({ network: null as never })).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
})
