import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { importWeights, openWeightFile } from '../src/index.js'
import { fixtureBytes } from './fixture.js'

const folder = mkdtempSync(join(tmpdir(), 'tfjs-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'model.json')

type Json = Readonly<Record<string, unknown>>

/** Writes the weights and the description of an `.h5` as TensorFlow.js does, the weights in two files cut within a tensor. */
async function converted(fixture: string, prefix: string, change: (weight: Json) => Json = (weight) => weight) {
  await using file = await openWeightFile(fixtureBytes(fixture))
  const weights: Json[] = []
  const parts: Uint8Array[] = []
  for (const { name, shape, read } of file.tensors.filter((each) => ownName(each.name) !== undefined)) {
    weights.push(change({ name: `${prefix}${ownName(name)}`, shape, dtype: 'float32' }))
    const { buffer, byteOffset, byteLength } = await read()
    parts.push(new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength))
  }
  const bytes = Buffer.concat(parts)
  writeFileSync(join(folder, 'shard1.bin'), bytes.subarray(0, 10))
  writeFileSync(join(folder, 'shard2.bin'), bytes.subarray(10))
  return {
    format: 'layers-model',
    modelTopology: { keras_version: '2.15.0', model_config: file.kerasModel },
    weightsManifest: [{ paths: ['shard1.bin', 'shard2.bin'], weights }],
  }
}

/** `model_weights/gru/net/gru/gru_cell/kernel` is `gru/gru_cell/kernel`. */
const ownName = (name: string) => /^model_weights\/[^/]+\/net\/(.*?)(?::0)?$/.exec(name)?.[1]
const write = (model: object) => writeFileSync(path, JSON.stringify(model))

// Keras 3 puts the name of the model before its variables' names.
it.each([
  ['gru', 'net/'],
  ['gru', ''],
  ['lstm_stacked', ''],
  ['bidirectional_lstm', 'net/'],
])('importWeights reads %s from a model.json whose names begin with "%s"', async (fixture, prefix) => {
  write(await converted(`keras/${fixture}.legacy.h5`, prefix))
  const { format, networks } = await importWeights(path)
  const expected = await importWeights(fixtureBytes(`keras/${fixture}.legacy.h5`))
  expect(format).toBe('keras-json')
  expect(networks.map(({ name, canonical }) => [name, canonical])).toEqual(
    expected.networks.map(({ name, canonical }) => [name, canonical]),
  )
})

it.each<[string, string, (model: Awaited<ReturnType<typeof converted>>) => object, RegExp]>([
  [
    'a graph model',
    'ERR_WEIGHTS_UNSUPPORTED',
    (m) => ({ ...m, modelTopology: { node: [] } }),
    /layers-model.*--input_format keras/,
  ],
  [
    'a missing shard',
    'ERR_WEIGHTS_NOT_FOUND',
    (m) => ({ ...m, weightsManifest: [{ ...m.weightsManifest[0], paths: ['none.bin'] }] }),
    /none\.bin/,
  ],
  [
    'a shard outside',
    'ERR_WEIGHTS_CORRUPT',
    (m) => ({ ...m, weightsManifest: [{ ...m.weightsManifest[0], paths: ['../a.bin'] }] }),
    /own folder/,
  ],
  [
    'too few bytes',
    'ERR_WEIGHTS_CORRUPT',
    (m) => ({ ...m, weightsManifest: [{ ...m.weightsManifest[0], paths: ['shard2.bin'] }] }),
    /its weights have \d+ bytes: there are \d+ in shard2\.bin/,
  ],
  [
    'no manifest',
    'ERR_WEIGHTS_CORRUPT',
    (m) => ({ ...m, weightsManifest: undefined }),
    /weightsManifest must be a list/,
  ],
  ['a group without weights', 'ERR_WEIGHTS_CORRUPT', (m) => ({ ...m, weightsManifest: [{}] }), /paths and weights/],
])('refuses %s with %s', async (_, code, change, message) => {
  write(change(await converted('keras/gru.legacy.h5', '')))
  await expect(importWeights(path)).rejects.toThrow(coded(code, { message: expect.stringMatching(message) }))
})

it.each<[string, Json, RegExp]>([
  ['quantized weights', { quantization: { dtype: 'uint8', scale: 1, min: 0 } }, /kernel is quantized to "uint8"/],
  ['texts', { dtype: 'string' }, /kernel is "string"/],
])('refuses %s by name', async (_, more, message) => {
  write(await converted('keras/gru.legacy.h5', '', (weight) => ({ ...weight, ...more })))
  await expect(importWeights(path)).rejects.toThrow(
    coded('ERR_WEIGHTS_UNSUPPORTED', { message: expect.stringMatching(message) }),
  )
})

it('refuses the bytes of a model.json: its weights are in files beside it', async () => {
  const bytes = new TextEncoder().encode(JSON.stringify(await converted('keras/gru.legacy.h5', '')))
  await expect(importWeights(bytes)).rejects.toThrow(/some are in shard1\.bin. Give its path/)
})
