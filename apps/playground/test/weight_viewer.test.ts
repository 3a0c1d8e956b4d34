import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { MemoryStore } from '@cudnn-rnn/checkpoint'
import { cudnnLSTM, dense, embedding, importWeights, lastStep, openBackend, sequential } from '@cudnn-rnn/rnn'
import { expect, it } from 'vitest'
import { largest, pooled } from '../src/weights/gate_pictures.js'
import { WeightViewer } from '../src/weights/weight_viewer.js'
import type { WeightsMessage } from '../src/weights/weights_messages.js'

async function fixture(name: string): Promise<File> {
  const path = fileURLToPath(new URL(`../../../fixtures/interop/${name}`, import.meta.url))
  return new File([new Uint8Array(await readFile(path))], name.slice(name.lastIndexOf('/') + 1))
}

function task() {
  const messages: WeightsMessage[] = []
  const of = <Kind extends WeightsMessage['kind']>(kind: Kind) =>
    messages.filter((message): message is Extract<WeightsMessage, { kind: Kind }> => message.kind === kind)
  const post = (message: WeightsMessage) => void messages.push(message)
  return { signal: new AbortController().signal, post, breathe: async () => undefined, of }
}

it('open lists the networks of a PyTorch file, show draws every gate, and run computes on each input', async () => {
  using backend = await openBackend('reference')
  const viewer = new WeightViewer(backend)
  const done = task()
  await viewer.open([await fixture('pytorch/tagger_half.pt')], done)
  const [opened] = done.of('opened')
  expect(opened?.format).toBe('pytorch')
  expect(opened?.networks[0]?.description).toMatch(/^LSTM, \d+ → \d+, /)

  viewer.show(0, done)
  const groups = done.of('shown')[0]?.groups ?? []
  for (const { title, gates } of groups) {
    expect(title).toMatch(/^Layer \d(, (for|back)ward)?, (input|recurrent) weights$/)
    expect(gates.map(({ gate }) => gate)).toEqual(['input', 'forget', 'new memory', 'output'])
    for (const { matrix, limit } of gates) {
      expect(matrix.values).toHaveLength(matrix.rows * matrix.columns)
      expect(limit).toBeGreaterThan(0)
    }
  }
  expect(groups.length).toBeGreaterThan(1)

  for (const input of ['random', 'impulse', 'text'] as const) {
    await viewer.run(0, { input, text: 'seven c', steps: 5 }, done)
  }
  expect(done.of('ran').map(({ output }) => output.columns)).toEqual([5, 5, 7])
  for (const { output, limit } of done.of('ran')) expect(largest(output.values)).toBe(limit)
})

it('open describes the layers of a whole model, of Keras or saved here, and run computes all of them', async () => {
  using backend = await openBackend('reference')
  const viewer = new WeightViewer(backend)
  const done = task()
  await viewer.open([await fixture('guide/sine.keras')], done)
  for (const input of ['random', 'impulse', 'text'] as const)
    await viewer.run(-1, { input, text: 'abc', steps: 5 }, done)
  expect(done.of('opened')[0]?.layers).toMatch(/cudnnGRU[\s\S]*dense/)
  expect(done.of('ran').map(({ output: { rows, columns } }) => [rows, columns])).toEqual([
    [1, 5],
    [1, 5],
    [1, 3],
  ])

  const layers = [embedding({ size: 7, units: 2 }), cudnnLSTM({ numUnits: 3 }), lastStep(), dense({ units: 2 })]
  const store = new MemoryStore()
  await sequential(backend, layers, { seed: 1 }).save('words', { store })
  const files = [...store.files].map(([name, bytes]) => new File([new Uint8Array(bytes)], name))
  await viewer.open(files, done)
  for (const input of ['random', 'impulse', 'text'] as const)
    await viewer.run(-1, { input, text: 'abc', steps: 5 }, done)
  expect(done.of('opened')[1]?.layers).toContain('embedding')
  expect(done.of('ran').at(-1)?.numbers).toHaveLength(2)
  await viewer.open([await fixture('pytorch/tagger_half.pt')], done)
  expect(done.of('opened')[2]?.layers).toBeUndefined()
  await expect(viewer.run(-1, { input: 'impulse', text: '', steps: 5 }, done)).rejects.toThrow('open a file first')
})

it.each(['safetensors', 'npz', 'onnx', 'flax', 'tensorflow'] as const)(
  'convert writes files that are read as %s',
  async (format) => {
    using backend = await openBackend('reference')
    const viewer = new WeightViewer(backend)
    const done = task()
    const file = await fixture('pytorch/tagger_half.pt')
    await viewer.open([file], done)
    await viewer.convert(0, format, done)
    const { networks: before } = await importWeights(file)
    const { networks } = await importWeights(done.of('converted')[0]?.files ?? [])
    // Flax keeps the sum of the two biases of a gate.
    const kept = ({ canonical }: (typeof networks)[number]) => (format === 'flax' ? canonical.weights : canonical)
    const ofCells = (all: typeof networks) =>
      Object.fromEntries(all.map((network) => [network.descriptor.cellMode, kept(network)]))
    expect(before).toHaveLength(2)
    expect(ofCells(networks)).toEqual(ofCells(format === 'onnx' ? before.slice(0, 1) : before))
  },
)

it('a request before a file was opened is refused in words', async () => {
  using backend = await openBackend('reference')
  await expect(new WeightViewer(backend).convert(0, 'npz', task())).rejects.toThrow('open a file first')
})

it('pooled keeps the strongest value of each block of a large matrix', () => {
  const values = new Float32Array(400 * 10)
  values[3 * 10 + 4] = -5
  values[399 * 10 + 9] = 7
  const small = pooled({ rows: 400, columns: 10, values })
  expect([small.rows, small.columns]).toEqual([134, 10])
  expect([small.values[1 * 10 + 4], small.values.at(-1)]).toEqual([-5, 7])
})

it('run leaves no tensors behind, also where its input is refused', async () => {
  using backend = await openBackend('reference')
  const viewer = new WeightViewer(backend)
  await viewer.open([await fixture('pytorch/tagger_half.pt')], task())
  const before = backend.stats().tensors
  await viewer.run(0, { input: 'impulse', text: '', steps: 2 }, task())
  await expect(viewer.run(0, { input: 'impulse', text: '', steps: 0 }, task())).rejects.toThrow()
  expect(backend.stats().tensors).toBe(before)
})

it('run on no text has one step, and on an impulse the same output each time', async () => {
  using backend = await openBackend('reference')
  const viewer = new WeightViewer(backend)
  const done = task()
  await viewer.open([await fixture('pytorch/tagger_half.pt')], done)
  await viewer.run(0, { input: 'text', text: '', steps: 9 }, done)
  for (let times = 0; times < 2; times++) await viewer.run(0, { input: 'impulse', text: '', steps: 4 }, done)
  const [text, first, second] = done.of('ran')
  expect(text?.output.columns).toBe(1)
  expect(first?.output).toEqual(second?.output)
})

it('a file that is not one of weights is refused, and the networks before remain', async () => {
  using backend = await openBackend('reference')
  const viewer = new WeightViewer(backend)
  const done = task()
  await viewer.open([await fixture('pytorch/tagger_half.pt')], done)
  await expect(viewer.open([new File(['no weights'], 'notes.txt')], done)).rejects.toThrow()
  viewer.show(0, done)
  expect(done.of('shown')).toHaveLength(1)
  expect(() => viewer.show(7, done)).toThrow('open a file first')
})
