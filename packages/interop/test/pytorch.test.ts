import { describe, expect, it } from 'vitest'
import { OPS, PickleBytes } from '../fuzz/pickle_bytes.js'
import { zipBytes } from '../fuzz/zip_bytes.js'
import { exportWeights, importWeights, openWeightFile } from '../src/index.js'
import { compute, expectClose, fixtureBytes, fixtureJson, fixturePath, type Numbers } from './fixture.js'

// Made by fixtures/interop/make_pytorch.py.
const expected = fixtureJson<{
  readonly cases: Readonly<Record<string, { readonly input: Numbers; readonly output: Numbers }>>
  readonly tagger: Readonly<Record<string, Numbers>>
}>('pytorch/expected.json')

describe.each(Object.entries(expected.cases))('importWeights of torch.nn %s', (name, { input, output }) => {
  const cellMode = name === 'rnn_relu' ? 'rnn_relu' : name.startsWith('rnn') ? 'rnn_tanh' : undefined
  const options = cellMode === undefined ? {} : ({ cellMode } as const)

  it('gives a network that computes the same', async () => {
    const { format, networks, unusedTensors } = await importWeights(fixturePath(`pytorch/${name}.safetensors`), options)
    expect(format).toBe('safetensors')
    expect(unusedTensors).toEqual([])
    expectClose((await compute(networks[0]!, input)).output, output)
  })

  it.each(['safetensors', 'npz'] as const)('is restored bit for bit through %s', async (format) => {
    const { networks } = await importWeights(fixtureBytes(`pytorch/${name}.safetensors`), options)
    const again = await importWeights(await exportWeights(networks, { format }), options)
    expect(again.networks[0]!.descriptor).toEqual(networks[0]!.descriptor)
    expect(again.networks[0]!.canonical).toEqual(networks[0]!.canonical)
  })
})

const TAGGER_FILES = [
  ['tagger.safetensors', '', 0],
  ['tagger.pt', '', 0],
  ['training.pth', 'model.', 0],
  ['tagger_legacy.pt', '', 0],
  ['tagger.npz', '', 0],
  ['tagger_compressed.npz', '', 0],
  ['tagger_half.pt', '', 2 ** -11],
  ['tagger_bfloat16.pt', '', 2 ** -8],
] as const

describe.each(TAGGER_FILES)('importWeights of %s', (file, prefix, rounding) => {
  it('finds the LSTM and the GRU cell and lists the rest', async () => {
    const { networks, unusedTensors } = await importWeights(fixturePath(`pytorch/${file}`))
    const cells = Object.fromEntries(networks.map(({ name, descriptor }) => [name, descriptor.cellMode]))
    expect(cells).toEqual({ [`${prefix}encoder`]: 'lstm', [`${prefix}decoder`]: 'gru' })
    const others = ['embedding.weight', 'head.bias', 'head.weight'].map((name) => prefix + name)
    expect(unusedTensors.map(({ name }) => name).sort()).toEqual(others)
  })

  it('reads every tensor as PyTorch holds it', async () => {
    const stored = await openWeightFile(fixturePath(`pytorch/${file}`))
    for (const { name, read, shape } of stored.tensors) {
      const { data } = expected.tagger[name.slice(prefix.length)]!
      const limit = rounding * Math.max(...data.map(Math.abs))
      expectClose({ data: await read(), shape }, expected.tagger[name.slice(prefix.length)]!, limit)
    }
    expect(stored.tensors).toHaveLength(Object.keys(expected.tagger).length)
    await stored.close()
  })
})

it('openWeightFile reads views with their strides and float64 as it is', async () => {
  const { tensors } = await openWeightFile(fixtureBytes('pytorch/views.pt'))
  const [view, double] = await Promise.all(tensors.map(({ read }) => read()))
  expect(tensors[0]!.shape).toEqual([3, 3])
  expect(view).toEqual(Float32Array.of(1, 5, 9, 2, 6, 10, 3, 7, 11))
  expect(double).toEqual(Float64Array.of(1, 1))
})

it('importWeights requires the cell where a plain RNN could be two', async () => {
  const imported = importWeights(fixtureBytes('pytorch/rnn_relu.safetensors'))
  await expect(imported).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_AMBIGUOUS',
    interpretations: [expect.stringContaining('rnn_tanh'), expect.stringContaining('rnn_relu')],
  })
})

it('importWeights executes nothing of a pickle, and reads no value of a function', async () => {
  const { networks } = await importWeights(fixtureBytes('pytorch/hostile.pt'))
  expect(networks).toEqual([])
})

it('importWeights reads the parameters of a whole module as those of its state dict', async () => {
  const [whole, state] = await Promise.all(
    ['whole_module', 'tagger'].map((name) => importWeights(fixtureBytes(`pytorch/${name}.pt`))),
  )
  expect(whole!.networks.length).toBeGreaterThan(0)
  expect([whole!.networks, whole!.unusedTensors]).toEqual([state!.networks, state!.unusedTensors])
})

it('importWeights reads the policy of an agent of Stable-Baselines3', async () => {
  const agent = zipBytes([
    { name: 'data', bytes: new TextEncoder().encode('{}') },
    { name: 'policy.pth', bytes: fixtureBytes('pytorch/tagger.pt'), deflate: true },
    { name: 'policy.optimizer.pth', bytes: new Uint8Array() },
  ])
  expect((await importWeights(agent)).networks).toEqual(
    (await importWeights(fixtureBytes('pytorch/tagger.pt'))).networks,
  )
})

it.each([
  ['model-00001-of-00002.safetensors', /one of 2 shards, which model\.safetensors\.index\.json lists/],
  ['pytorch_model-00002-of-00003.bin', /one of 3 shards, which pytorch_model\.bin\.index\.json lists/],
])('importWeights refuses %s, a part of a model', async (name, message) => {
  const file = Object.assign(new Blob([Uint8Array.from(fixtureBytes('pytorch/gru.safetensors'))]), { name })
  await expect(importWeights(file)).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_UNSUPPORTED',
    message: expect.stringMatching(message),
  })
})

// Globals that PyTorch 2.13 writes for each kind of file.
it.each([
  [
    'a TorchScript archive',
    '__torch__.M',
    /TorchScript archive: torch\.save\(torch\.jit\.load\(file\)\.state_dict\(\), target\)/,
  ],
  [
    'the state of a quantized module',
    'torch.ScriptObject',
    /lstm\.param \(torch\.ScriptObject\).*quantized one before its quantization/,
  ],
  [
    'a quantized layer',
    'torch.ao.nn.quantized.dynamic.modules.rnn.LSTM',
    /state_dict of the model.*before its quantization/,
  ],
])('importWeights refuses %s and states how to save its weights', async (_, name, advice) => {
  const dot = name.lastIndexOf('.')
  const pickle = new PickleBytes().op(OPS.emptyDict).text('lstm.param')
  pickle.global(name.slice(0, dot), name.slice(dot + 1)).op(OPS.emptyTuple, OPS.reduce, OPS.setItem)
  const file = zipBytes([{ name: 'm/data.pkl', bytes: pickle.finish() }])
  await expect(importWeights(file)).rejects.toMatchObject({
    code: expect.stringMatching(/ERR_WEIGHTS_(?:PICKLE|UNRECOGNIZED)/),
    message: expect.stringMatching(advice),
  })
})

it('importWeights refuses a program of torch.export and states how to save its weights', async () => {
  const empty = new Uint8Array()
  const file = zipBytes([
    { name: 'm/data/weights/weight_0', bytes: empty },
    { name: 'm/models/model.json', bytes: empty },
  ])
  await expect(importWeights(file)).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_FORMAT',
    message: expect.stringContaining('torch.save(torch.export.load(file).state_dict, target)'),
  })
})
