import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { elementCount } from '@cudnn-rnn/canonical/rules'
import { openBackend, type Tensor, writeCheckpoint } from '@cudnn-rnn/rnn'
import { afterAll, beforeAll, expect, it } from 'vitest'
import fixture from '../../../fixtures/ctc/models.json'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openCalamari, readLines } from '../src/recognition/calamari.js'
import { openDeepSpeech } from '../src/recognition/deep_speech.js'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recognition-'))
})
afterAll(() => rm(directory, { recursive: true, force: true }))

interface Model {
  readonly scale: number
  readonly variables: readonly (readonly (string | readonly number[])[])[]
  readonly logits: string
}

const count = (shape: readonly number[]) => elementCount(shape)

/** A checkpoint with the model's variables by the formula of fixtures/ctc/make_models.py; returns its prefix. */
async function written(
  name: string,
  { scale, variables }: Model,
  rename = (key: string) => key,
  change = (tensor: Tensor<Float32Array>) => tensor,
): Promise<string> {
  const prefix = join(directory, name)
  const tensors = variables.map(([key, shape], k) => {
    const data = Float32Array.from({ length: count(shape as number[]) }, (_, n) => scale * Math.sin(0.77 * (n + 1) + k))
    return [rename(key as string), change({ data, shape: shape as number[] })] as const
  })
  await writeCheckpoint(prefix, tensors)
  return prefix
}

/**
 * A variable of layers of `units` in one of layers of `more`, whose additional units are 0 at every step: their weights
 * and biases are 0. Each dimension has one block of units for each gate or operand.
 */
function widened({ data, shape }: Tensor<Float32Array>, units: number, more: number): Tensor<Float32Array> {
  const isOfUnits = shape.map((size) => size % units === 0)
  const sizes = shape.map((size, axis) => (isOfUnits[axis] ? (size / units) * more : size))
  const place = (index: number, axis: number) =>
    isOfUnits[axis] ? Math.floor(index / units) * more + (index % units) : index
  const columns = shape.length - 1
  const wide = new Float32Array(count(sizes))
  for (const [n, value] of data.entries()) {
    const row = columns === 0 ? 0 : place(Math.floor(n / shape[columns]), 0)
    wide[row * sizes[columns] + place(n % shape[columns], columns)] = value
  }
  return { data: wide, shape: sizes }
}

const inputs = (length: number) => Float32Array.from({ length }, (_, n) => 0.5 + 0.5 * Math.sin(0.37 * (n + 1)))

function expectLogits(actual: ArrayLike<number | bigint>, { logits }: Model) {
  const expected = new Float64Array(Uint8Array.from(Buffer.from(logits, 'base64')).buffer)
  expect(actual.length).toBe(expected.length)
  const errors = Array.from(expected, (value, k) => Math.abs(Number(actual[k]) - value) / Math.max(1, Math.abs(value)))
  expect(Math.max(...errors)).toBeLessThan(1e-4)
}

it.each([
  ['the scope cnn_lstm', (key: string) => key],
  ['no scope', (key: string) => key.replace('cnn_lstm/', '')],
])("openCalamari computes TensorFlow's logits from a checkpoint with %s", async (name, rename) => {
  using backend = await openBackend('reference')
  const prefix = await written(`calamari ${name}`, fixture.calamari, rename)
  const model = await openCalamari(backend, prefix)
  const line = inputs(fixture.calamari.width * 48)
  const { data, shape } = await model.predict({ data: line, shape: [fixture.calamari.width, 1, 48] })
  expect(shape).toEqual([6, 1, 10])
  expectLogits(data, fixture.calamari)
  // Two lines at once, one of them shorter, read as each alone.
  const lines = [line, line.slice(0, 13 * 48)]
  const charset = [...'_abcdefghi']
  const alone = await Promise.all(lines.map(async (each) => (await readLines(model, [each], charset))[0]))
  expect(await readLines(model, lines, charset)).toEqual(alone)
  expect(alone.join('')).not.toBe('')
  model.dispose()
  expect(backend.stats().tensors).toBe(0)
})

it.each([
  ['12 units', 'reference', (tensor: Tensor<Float32Array>) => tensor],
  ['2048 units, as the published ones', 'auto', (tensor: Tensor<Float32Array>) => widened(tensor, 12, 2048)],
] as const)("openDeepSpeech computes TensorFlow's logits from a checkpoint of %s", async (name, executor, change) => {
  using backend = await openBackend(executor)
  const { T, B } = fixture.deepSpeech
  const prefix = await written(`deep speech ${name}`, fixture.deepSpeech, undefined, change)
  const model = await openDeepSpeech(backend, prefix)
  expect(model.output).toEqual({ isSequence: true, features: 29 })
  const { data } = await model.predict({ data: inputs(T * B * 494), shape: [T, B, 494] })
  expectLogits(data, fixture.deepSpeech)
  model.dispose()
  expect(backend.stats().tensors).toBe(0)
})

it('both refuse the checkpoint of the other', async () => {
  using backend = await openBackend('reference')
  const code = coded('ERR_OTHER_MODEL')
  const prefix = await written('other', fixture.deepSpeech)
  await expect(openCalamari(backend, prefix)).rejects.toThrow(code)
  await expect(openDeepSpeech(backend, await written('another', fixture.calamari))).rejects.toThrow(code)
  expect(backend.stats().tensors).toBe(0)
})
