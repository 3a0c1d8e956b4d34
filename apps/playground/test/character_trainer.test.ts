import { importWeights, openBackend } from '@cudnn-rnn/rnn'
import { expect, it } from 'vitest'
import type { CharacterMessage } from '../src/character/character_messages.js'
import { CharacterTrainer } from '../src/character/character_trainer.js'

const TEXT = 'the rain in spain stays mainly in the plain. '.repeat(60)
const SETTINGS = { units: 16, layers: 1, steps: 100 }

function task() {
  const controller = new AbortController()
  const messages: CharacterMessage[] = []
  const post = (message: CharacterMessage) => void messages.push(message)
  const breathe = async () => undefined
  const of = <Kind extends CharacterMessage['kind']>(kind: Kind) =>
    messages.filter((message): message is Extract<CharacterMessage, { kind: Kind }> => message.kind === kind)
  return { signal: controller.signal, post, breathe, of, stop: () => controller.abort() }
}

it('train reports falling losses and samples, and the trained model writes, shows its gates and is saved', async () => {
  using backend = await openBackend('reference')
  const trainer = new CharacterTrainer(backend)
  const training = task()
  await trainer.train(TEXT, SETTINGS, training)
  const points = training.of('losses').flatMap((message) => message.points)
  expect(points.map(({ step }) => step)).toEqual(Array.from({ length: 100 }, (_, k) => k + 1))
  expect(points.at(-1)?.bits).toBeLessThan((points[0]?.bits ?? 0) * 0.7)
  expect(points.filter(({ heldOutBits }) => heldOutBits !== undefined).map(({ step }) => step)).toEqual([50, 100])
  expect(training.of('sample').map(({ step }) => step)).toEqual([50, 100])

  const writing = task()
  await trainer.write({ prompt: 'THE the ', temperature: 0, length: 12 }, writing)
  expect(writing.of('written')[0]?.text).toBe(' the ')
  expect(writing.of('written')).toHaveLength(13)

  const watching = task()
  await trainer.watch('rain!', watching)
  const watched = watching.of('watched')
  expect(watched.map(({ symbol }) => symbol).join('')).toBe('rain')
  expect(watched[3]?.activity.forget).toHaveLength(16)

  const saving = task()
  for (const format of ['checkpoint', 'safetensors', 'onnx'] as const) await trainer.save(format, saving)
  const formats: unknown[] = []
  for (const { files } of saving.of('saved')) {
    const { format, networks } = await importWeights(files)
    formats.push([format, networks.map(({ descriptor }) => descriptor.numUnits)])
  }
  expect(formats).toEqual([
    ['tensorflow', [16]],
    ['safetensors', [16]],
    ['onnx', [16]],
  ])
})

it('train ends after the step in which a stop arrives, and the model remains usable', async () => {
  using backend = await openBackend('reference')
  const trainer = new CharacterTrainer(backend)
  const training = task()
  let steps = 0
  await trainer.train(TEXT, SETTINGS, {
    ...training,
    breathe: async () => {
      if (++steps === 3) training.stop()
    },
  })
  expect(steps).toBe(3)
  expect(training.of('losses').at(-1)?.points.at(-1)?.step).toBe(3)
  const writing = task()
  await trainer.write({ prompt: 'the', temperature: 1, length: 2 }, writing)
  expect(writing.of('written')).toHaveLength(3)
})

it('a text without one window, and a task without a model, are refused in words', async () => {
  using backend = await openBackend('reference')
  const trainer = new CharacterTrainer(backend)
  await expect(trainer.train('too short', SETTINGS, task())).rejects.toThrow('at least 2,000 characters: it has 9')
  await expect(trainer.watch('text', task())).rejects.toThrow('train one first')
})

it('a training that cannot begin leaves the model before as it is', async () => {
  using backend = await openBackend('reference')
  const trainer = new CharacterTrainer(backend)
  await trainer.train(TEXT, { ...SETTINGS, units: 4, steps: 1 }, task())
  await expect(trainer.train(TEXT, { ...SETTINGS, units: 0 }, task())).rejects.toThrow()
  await expect(trainer.train('too short', SETTINGS, task())).rejects.toThrow('at least 2,000 characters')
  const writing = task()
  await trainer.write({ prompt: 'the', temperature: 1, length: 2 }, writing)
  expect(writing.of('written')).toHaveLength(3)
})

it('a new model disposes the tensors of the one before', async () => {
  using backend = await openBackend('reference')
  const trainer = new CharacterTrainer(backend)
  const train = () => trainer.train(TEXT, { ...SETTINGS, units: 4, steps: 1 }, task())
  await train()
  const { tensors } = backend.stats()
  await train()
  expect(backend.stats().tensors).toBe(tensors)
})

it('watch has a step for each character, those of two UTF-16 units among them', async () => {
  using backend = await openBackend('reference')
  const trainer = new CharacterTrainer(backend)
  await trainer.train('🐋 and 🌊. '.repeat(300), { ...SETTINGS, units: 4, steps: 1 }, task())
  const watching = task()
  await trainer.watch('🐋🌊🚢.', watching)
  const watched = watching.of('watched')
  expect(watched.map(({ symbol }) => symbol)).toEqual(['🐋', '🌊', '.'])
  expect(watched.map(({ activity }) => activity.input.length)).toEqual([4, 4, 4])
  // The states are carried from character to character.
  expect(watched[2]?.activity['cell state']).not.toEqual(watched[0]?.activity['cell state'])
})

it('watch ends at a stop', async () => {
  using backend = await openBackend('reference')
  const trainer = new CharacterTrainer(backend)
  await trainer.train(TEXT, { ...SETTINGS, units: 4, steps: 1 }, task())
  const watching = task()
  const post = (message: CharacterMessage) => {
    watching.post(message)
    if (watching.of('watched').length === 2) watching.stop()
  }
  await trainer.watch(TEXT.slice(0, 50), { ...watching, post })
  expect(watching.of('watched')).toHaveLength(2)
})

it('write begins with a character of the text where the prompt has none, and ends at a stop', async () => {
  using backend = await openBackend('reference')
  const trainer = new CharacterTrainer(backend)
  await trainer.train(TEXT, { ...SETTINGS, units: 4, steps: 1 }, task())
  const stopping = task()
  const breathe = async () => stopping.stop()
  await trainer.write({ prompt: '0123', temperature: 0, length: 50 }, { ...stopping, breathe })
  expect(stopping.of('written').map(({ text }) => text)).toEqual([' '])
})
