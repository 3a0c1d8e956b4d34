import { describe, expect, it } from 'vitest'
import { encodeFlax } from '../src/files/flax_encoder.js'
import { exportWeights, importWeights, openWeightFile } from '../src/index.js'
import { compute, expectClose, fixtureBytes, fixtureJson, fixturePath, type Numbers } from './fixture.js'

// Made by fixtures/interop/make_flax.py.
const expected = fixtureJson<{
  readonly cases: Readonly<Record<string, { readonly input: Numbers; readonly output: Numbers }>>
  readonly bfloat16: Numbers
}>('flax/expected.json')

describe.each(Object.entries(expected.cases))('importWeights of a Flax %s cell', (name, { input, output }) => {
  const options = name === 'simple' ? ({ cellMode: 'rnn_tanh' } as const) : {}

  it.each(['msgpack', 'safetensors'])('gives a network that computes the same, from %s', async (kind) => {
    const { networks, unusedTensors } = await importWeights(fixturePath(`flax/${name}.${kind}`), options)
    const prefix = kind === 'msgpack' ? 'params/' : ''
    expect(networks.map((network) => network.name)).toEqual([`${prefix}cell`])
    expect(unusedTensors.map((tensor) => tensor.name)).toEqual([`${prefix}head/bias`, `${prefix}head/kernel`])
    expectClose((await compute(networks[0]!, input)).output, output)
  })

  it('is restored with the same weights and sums of biases', async () => {
    const { networks } = await importWeights(fixtureBytes(`flax/${name}.msgpack`), options)
    const again = await importWeights(await exportWeights(networks, { format: 'flax' }), options)
    expect(again.networks[0]!.canonical).toEqual(networks[0]!.canonical)
  })
})

it('importWeights puts together the arrays that Flax writes in chunks', async () => {
  // Made by fixtures/interop/make_flax.py from lstm.msgpack, with chunks of 40 bytes.
  const whole = await importWeights(fixtureBytes('flax/lstm.msgpack'))
  const chunked = await importWeights(fixturePath('flax/lstm_chunked.msgpack'))
  expect(chunked.unusedTensors.map(({ name, shape }) => [name, shape])).toEqual([
    ['params/head/bias', [7]],
    ['params/head/kernel', [4, 7]],
  ])
  expect(chunked.networks[0]!.canonical).toEqual(whole.networks[0]!.canonical)
})

it('importWeights requires the activation of a SimpleCell', async () => {
  await expect(importWeights(fixtureBytes('flax/simple.msgpack'))).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_AMBIGUOUS',
  })
})

it.each([
  ['a key', 'a', 'a', 'a'],
  ['a path', 'a/b', 'a', 'a/b'],
])('openWeightFile refuses %s that is there twice', async (_, first, second, name) => {
  // Without the header of its map, which counts the keys.
  const entry = (key: string, entries: Uint8Array) =>
    Buffer.concat([Buffer.from([0xa0 + key.length]), Buffer.from(key), entries])
  const array = encodeFlax({ b: { data: Float32Array.of(1), shape: [1] } })
  const value = array.subarray(3)
  const bytes = Buffer.concat([
    Buffer.from([0x82]),
    entry(first, value),
    entry(second, second === first ? value : array),
  ])
  await expect(openWeightFile(bytes)).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_CORRUPT',
    message: expect.stringContaining(`two values in it are called ${name}`),
  })
})

it('openWeightFile reads bfloat16 arrays of Flax', async () => {
  const { tensors } = await openWeightFile(fixtureBytes('flax/bfloat16.msgpack'))
  expect(tensors.map(({ name, dtype }) => [name, dtype])).toEqual([
    ['cell/a/kernel', 'bfloat16'],
    ['cell/b/kernel', 'bfloat16'],
    ['step', 'int64'],
  ])
  expectClose({ data: await tensors[0]!.read(), shape: tensors[0]!.shape }, expected.bfloat16, 0)
})
