import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { Adam, CudnnLSTM, Dataset, fit, openCheckpoint, TrainingCheckpoints } from '../src/index.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rnn-training-'))
})
afterEach(() => rm(folder, { recursive: true }))

const [T, B, H] = [3, 2, 4]

/** Predicts the sign of a running sum with an LSTM and a linear layer; returns all losses and the parameters. */
async function train(directory: string, maxSteps: number, saves = true) {
  using backend = openReferenceBackend()
  const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: H, inputSize: 1 })
  const params = lstm.createParams({ seed: 1, name: 'lstm/opaque_kernel' })
  const kernel = { name: 'output/kernel', backend, value: backend.zeros([H, 2]) }
  const bias = { data: new Float32Array(2), shape: [2] }
  const losses: number[] = []
  const evaluations: number[] = []
  const { ops } = backend
  const result = await fit({
    data: Dataset.fromArray([0, 1, 2, 3, 4, 5, 6]).shuffle({ bufferSize: 7, seed: 2 }).repeat(),
    async batchGradients(k) {
      const data = Float32Array.from({ length: T * B }, (_, n) => Math.sin(k + n))
      const labels = { data: Int32Array.from(data, (x) => (x > 0 ? 1 : 0)), shape: [T, B] }
      const run = await lstm.call({ data, shape: [T, B, 1] }, null, null, params)
      const logits = ops.linear(run.output, kernel.value, bias)
      const { loss, logitsGradient } = ops.softmaxCrossEntropy(logits, labels)
      const top = ops.linearGradients(run.output, kernel.value, logitsGradient)
      const bottom = await lstm.gradients(run.tape, { output: top.input })
      return { loss: (await loss.read()).data[0]!, gradients: [bottom.params, top.kernel] }
    },
    optimizer: new Adam([params, kernel], { weightDecay: 0.01 }),
    learningRate: () => 0.05,
    maxSteps,
    evaluate: async () => ({ loss: evaluations[evaluations.push(losses.at(-1) ?? 0) - 1]! }),
    evaluateEvery: 5,
    earlyStopping: { metric: 'loss' },
    saver: saves ? new TrainingCheckpoints(backend, directory, { models: [lstm] }) : undefined,
    onStep: ({ loss }) => void losses.push(loss),
  })
  return { result, losses, params: [...(await params.value.read()).data] }
}

it('TrainingCheckpoints resumes fit bit for bit, from files that hold the canonical tensors', async () => {
  const whole = await train(folder, 23, false)
  const first = await train(folder, 11)
  const second = await train(folder, 23)
  expect([...first.losses, ...second.losses]).toEqual(whole.losses)
  expect(second.params).toEqual(whole.params)

  const reader = await openCheckpoint(join(folder, 'model-23'))
  const names = reader.names()
  await reader.close()
  expect(names).toEqual(
    expect.arrayContaining([
      'lstm/opaque_kernel/layer_0/forward/weight_0',
      'lstm/opaque_kernel/Adam/layer_0/forward/weight_7',
      'lstm/opaque_kernel/Adam_1/layer_0/forward/bias_7',
      'output/kernel',
      'output/kernel/Adam_1',
      'training_record',
      'global_step',
    ]),
  )
  const files = ['model-20', 'model-23'].flatMap((name) => [`${name}.data-00000-of-00001`, `${name}.index`])
  expect((await readdir(folder)).sort()).toEqual(['best', 'checkpoint', ...files])
  const best = (await readFile(join(folder, 'best/checkpoint'))).toString()
  expect(best).toContain(`model-${second.result.best?.step}"`)
})

it('TrainingCheckpoints refuses buffers of an unknown model', async () => {
  using backend = openReferenceBackend()
  const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: H, inputSize: 1 })
  const checkpoints = new TrainingCheckpoints(backend, join(folder, 'other'))
  const record = { step: 1, optimizerStep: 1, position: null, best: null, skippedInARow: 0, extra: null }
  await expect(checkpoints.save('latest', [lstm.createParams()], record)).rejects.toThrow(coded('ERR_UNKNOWN_LAYOUT'))
  expect(() => new TrainingCheckpoints(backend, folder, { model: [lstm] } as never)).toThrow(
    coded('ERR_UNKNOWN_OPTION', { suggestion: 'models' }),
  )
})

/** The indexes of the latest checkpoints. */
const names = async () => (await readdir(folder)).filter((name) => name.endsWith('.index')).sort()

it('TrainingCheckpoints keeps two, and resumes from the older if the newest is damaged or lacks a file', async () => {
  const whole = await train(folder, 15, false)
  const damages = {
    'model-10.index': rm,
    'model-10.data-00000-of-00001': rm,
    'a flipped bit': async () => {
      const path = join(folder, 'model-10.data-00000-of-00001')
      const bytes = await readFile(path)
      bytes[bytes.length >> 1]! ^= 1
      await writeFile(path, bytes)
    },
    'an empty index': () => writeFile(join(folder, 'model-10.index'), ''),
  }
  for (const [name, damage] of Object.entries(damages)) {
    await rm(folder, { recursive: true })
    await train(folder, 10)
    expect(await names()).toEqual(['model-10.index', 'model-5.index'])
    await rm(join(folder, 'best'), { recursive: true })
    await damage(join(folder, name))
    const resumed = await train(folder, 15)
    expect(resumed.result.skipped).toMatchObject([
      { path: join(folder, 'model-10'), code: expect.stringMatching(/^ERR_CHECKPOINT/) },
    ])
    expect(resumed.losses).toEqual(whole.losses.slice(5))
    expect(resumed.params).toEqual(whole.params)
    expect(await names()).toEqual(['model-10.index', 'model-15.index'])
    expect((await train(folder, 15)).result.skipped).toBeUndefined()
  }
})

it('TrainingCheckpoints finds checkpoints whose state file is lost or damaged', async () => {
  await train(folder, 10)
  const whole = await train(folder, 15, false)
  await writeFile(join(folder, 'checkpoint'), '\0')
  const resumed = await train(folder, 13)
  expect(resumed.losses).toEqual(whole.losses.slice(10, 13))
  expect(resumed.result.skipped).toMatchObject([{ path: join(folder, 'checkpoint'), code: 'ERR_CHECKPOINT_CORRUPT' }])
  expect(await names()).toEqual(['model-10.index', 'model-13.index'])
  await rm(join(folder, 'checkpoint'))
  expect((await train(folder, 15)).losses).toEqual(whole.losses.slice(13))
})

it('TrainingCheckpoints does not start over where every checkpoint is damaged or missing', async () => {
  await train(folder, 10)
  await rm(join(folder, 'best'), { recursive: true })
  for (const name of await names()) await rm(join(folder, name))
  const refused = train(folder, 15)
  await expect(refused).rejects.toThrow(coded('ERR_NO_WHOLE_CHECKPOINT'))
  await expect(refused).rejects.toThrow(/model-10 .*model-5 .*from a copy, or begin a new run/)
})

it('TrainingCheckpoints is refused where another object trains in the directory', async () => {
  using backend = openReferenceBackend()
  const first = new TrainingCheckpoints(backend, folder)
  const lock = await first.lock()
  const nested = await first.lock()
  const refused = train(folder, 5)
  await expect(refused).rejects.toThrow(coded('ERR_RUN_LOCKED'))
  await expect(refused).rejects.toThrow(`process ${process.pid} on host`)
  expect(await readdir(folder)).toEqual(['training.lock'])
  await nested[Symbol.asyncDispose]()
  await expect(train(folder, 5)).rejects.toThrow(coded('ERR_RUN_LOCKED'))
  await lock[Symbol.asyncDispose]()
  await lock[Symbol.asyncDispose]()
  await train(folder, 5)
  expect(await readdir(folder)).not.toContain('training.lock')
})
