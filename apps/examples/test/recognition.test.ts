import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBackend, writeCheckpoint } from '@cudnn-rnn/rnn'
import { afterAll, beforeAll, expect, it } from 'vitest'
import fixture from '../../../fixtures/ctc/models.json'
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

const count = (shape: readonly number[]) => shape.reduce((product, size) => product * size, 1)

/** A checkpoint with the model's variables by the formula of fixtures/ctc/make_models.py; returns its prefix. */
async function written(name: string, { scale, variables }: Model, rename = (key: string) => key): Promise<string> {
  const prefix = join(directory, name)
  const tensors = variables.map(([key, shape], k) => {
    const data = Float32Array.from({ length: count(shape as number[]) }, (_, n) => scale * Math.sin(0.77 * (n + 1) + k))
    return [rename(key as string), { data, shape: shape as number[] }] as const
  })
  await writeCheckpoint(prefix, tensors)
  return prefix
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

it("openDeepSpeech computes TensorFlow's logits from a checkpoint", async () => {
  using backend = await openBackend('reference')
  const { T, B } = fixture.deepSpeech
  const model = await openDeepSpeech(backend, await written('deep speech', fixture.deepSpeech))
  expect(model.output).toEqual({ isSequence: true, features: 29 })
  const { data } = await model.predict({ data: inputs(T * B * 494), shape: [T, B, 494] })
  expectLogits(data, fixture.deepSpeech)
  model.dispose()
  expect(backend.stats().tensors).toBe(0)
})

it('both refuse the checkpoint of the other', async () => {
  using backend = await openBackend('reference')
  const code = expect.objectContaining({ code: 'ERR_OTHER_MODEL' })
  const prefix = await written('other', fixture.deepSpeech)
  await expect(openCalamari(backend, prefix)).rejects.toThrow(code)
  await expect(openDeepSpeech(backend, await written('another', fixture.calamari))).rejects.toThrow(code)
  expect(backend.stats().tensors).toBe(0)
})
