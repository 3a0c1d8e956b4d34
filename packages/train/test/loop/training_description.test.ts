import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { Adam, constantRate, Dataset, type FitOptions, Sgd } from '../../src/index.js'
import { trainingDescription } from '../../src/loop/training_description.js'
import { TrainingRanks } from '../../src/loop/training_ranks.js'
import { type Backend, over, reasons, record } from './ranks_and_records.js'

/** What rank 1 has and rank 0 has not, and the refusal of all ranks. */
const DIFFERENCES: readonly (readonly [string, (options: Options) => Partial<Options>, RegExp])[] = [
  [
    'another optimizer',
    ({ optimizer }) => ({ optimizer: new Sgd(optimizer.variables) }),
    /optimizer: rank 0 has \["Adam",\{"rule":"adam",.*rank 1 has \["Sgd",\{"rule":"sgd",/,
  ],
  [
    'another option of the optimizer',
    ({ optimizer }) => ({ optimizer: new Adam(optimizer.variables, { beta2: 0.99 }) }),
    /optimizer: rank 0 has .*"beta2":"0.999".*rank 1 has .*"beta2":"0.99",/,
  ],
  [
    'another weight decay',
    ({ optimizer }) => ({ optimizer: new Adam(optimizer.variables, { weightDecay: 0.1 }) }),
    /optimizer: rank 0 has .*"weightDecay":"0".*rank 1 has .*"weightDecay":"0.1"/,
  ],
  [
    'another weight decay and rate of a variable',
    ({ optimizer }) => ({
      optimizer: new Adam(optimizer.variables, { weightDecay: () => 0.1, rateFactor: () => 0.5 }),
    }),
    /optimizer: .*"weightDecay":\["0.1"\],"rateFactor":\["0.5"\]/,
  ],
  [
    'another learning rate',
    () => ({ learningRate: 0.2 }),
    /learningRate at step 0: rank 0 has "0.1", rank 1 has "0.2"/,
  ],
  [
    'another schedule',
    () => ({ learningRate: (step) => (step < 70 ? 0.1 : 0.01) }),
    /learningRate at step 99: rank 0 has "0.1", rank 1 has "0.01"/,
  ],
  [
    'more data',
    () => ({ data: Dataset.fromArray([1, 2, 3]) }),
    /data: rank 0 has "array of 2 elements \w+", rank 1 has "array of 3 elements/,
  ],
  [
    'other data',
    () => ({ data: Dataset.fromArray([1, 3]) }),
    /data: rank 0 has "array of 2 elements \w+", rank 1 has "array of 2 elements/,
  ],
  [
    'another name',
    ({ optimizer }) => variable(optimizer.backend as Backend, 'y', [2]),
    /variables: rank 0 has \[\["x",\["2"\],.*rank 1 has \[\["y",/,
  ],
  [
    'another shape',
    ({ optimizer }) => variable(optimizer.backend as Backend, 'x', [1, 2]),
    /variables: rank 0 has \[\["x",\["2"\],.*rank 1 has \[\["x",\["1","2"\]/,
  ],
  [
    'another layout',
    ({ optimizer }) => variable(optimizer.backend as Backend, 'x', [2], 'opaque'),
    /variables: rank 0 has .*rank 1 has .*"opaque"\]/,
  ],
  ['another setting', () => ({ sharedSettings: { dropout: 0.5 } }), /dropout: rank 0 has "0.1", rank 1 has "0.5"/],
  [
    'a setting that rank 0 lacks',
    () => ({ sharedSettings: { dropout: 0.1, layers: 2 } }),
    /layers: rank 0 has none, rank 1 has "2"/,
  ],
]

type Options = FitOptions<number>

function variable(backend: Backend, name: string, shape: number[], layout?: string) {
  return { optimizer: new Adam([{ name, backend, value: backend.zeros(shape, { layout }) }]) }
}

function optionsOf(backend: Backend): Options {
  return {
    data: Dataset.fromArray([1, 2]),
    batchGradients: () => Promise.reject(new Error('no batch is computed')),
    ...variable(backend, 'x', [2]),
    learningRate: constantRate(0.1),
    maxSteps: 100,
    sharedSettings: { dropout: 0.1 },
  }
}

describe('trainingDescription', () => {
  it('is the same for equal options', async () => {
    const same = await over(2, (ranks, _, backend) => ranks.compare(() => trainingDescription(optionsOf(backend))))
    expect(reasons(same)).toEqual([undefined, undefined])
  })

  it.each(DIFFERENCES)('has %s, so that the ranks are refused', async (_, differ, message) => {
    const other = await over(2, (ranks, rank, backend) => {
      const options = optionsOf(backend)
      return ranks.compare(() => trainingDescription({ ...options, ...(rank === 1 && differ(options)) }))
    })
    for (const reason of reasons(other)) {
      expect(reason).toMatchObject({ code: 'ERR_RANKS_DIFFER', message: expect.stringMatching(message) })
    }
  })

  it('has the version of the package', async () => {
    const other = await over(2, (ranks, rank, backend) =>
      ranks.compare(() => {
        const description = trainingDescription(optionsOf(backend))
        return rank === 1 ? { ...description, version: '0.0.1' } : description
      }),
    )
    for (const reason of reasons(other)) {
      expect(reason?.message).toMatch(/the same version: rank 0 has "\d+\.\d+\.\d+\S*", rank 1 has "0\.0\.1"/)
    }
  })
})

describe('TrainingRanks of one process', () => {
  it('takes the state of the first rank of several, and null if there is none', () => {
    const sole = new TrainingRanks(undefined)
    expect(sole.ownState({ ...record, ranks: 3 })).toEqual({ saved: 'a', by: { rank: 0, size: 3 } })
    expect(sole.ownState({ ...record, extra: [], ranks: 2 })).toEqual({ saved: null, by: { rank: 0, size: 2 } })
    expect(sole.ownState(record)).toEqual({ saved: record.extra, by: { rank: 0, size: 1 } })
  })

  it('throws the errors of its work immediately, and stops by its signal', async () => {
    const aborting = new AbortController()
    const sole = new TrainingRanks(aborting.signal)
    await expect(sole.attempt(() => Promise.reject(new Error('no memory')))).rejects.toThrow('no memory')
    await expect(sole.attemptFirst(() => Promise.reject(new Error('no disk')))).rejects.toThrow('no disk')
    expect(sole.isStopping).toBe(false)
    aborting.abort()
    expect(sole.isStopping).toBe(true)
  })

  it('has no step without batches, and no metrics without an evaluation', async () => {
    const sole = new TrainingRanks(undefined)
    expect(await sole.step({} as never, [], 0.1, undefined)).toBeUndefined()
    expect(await sole.evaluate(undefined)).toBeUndefined()
    expect(await sole.lock(undefined)).toBeUndefined()
    expect(await sole.finish()).toBeUndefined()
  })
})

describe('trainingDescription', () => {
  function described(changes: (backend: Backend) => Partial<FitOptions<readonly number[]>>) {
    using backend = openReferenceBackend()
    const variables = [{ name: 'kernel', backend, value: backend.zeros([2, 3]) }]
    return trainingDescription({
      data: Dataset.fromArray([1, 2, 3]).batch(2),
      batchGradients: async () => ({ loss: 0, gradients: [] }),
      optimizer: new Adam(variables),
      learningRate: 0.1,
      maxSteps: 5,
      ...changes(backend),
    })
  }
  const plain = described(() => ({}))
  const kernel = (backend: Backend, shape: number[]) => ({ name: 'kernel', backend, value: backend.zeros(shape) })

  it.each<[string, string, (backend: Backend) => Partial<FitOptions<readonly number[]>>]>([
    ['data', 'data', () => ({ data: Dataset.fromArray([1, 2, 4]).batch(2) })],
    ['optimizer', 'optimizer', (backend) => ({ optimizer: new Sgd([kernel(backend, [2, 3])]) })],
    ['shapes', 'variables', (backend) => ({ optimizer: new Adam([kernel(backend, [3, 2])]) })],
    ['rate', 'learningRate at step 0', () => ({ learningRate: 0.2 })],
    ['steps', 'maxSteps', () => ({ maxSteps: 6 })],
    ['clipping', 'clipValue', () => ({ clipValue: 1 })],
    ['evaluation', 'evaluation', () => ({ evaluate: async () => ({}) })],
    ['state', 'state', (backend) => ({ state: { tensors: [kernel(backend, [2])] } })],
  ])('differs for other %s, under the name %s', (_, name, changes) => {
    expect(described(changes)[name]).not.toEqual(plain[name])
  })

  it('is the same for a constant rate and its schedule, and leaves out the rows of a batch', () => {
    expect(described(() => ({ learningRate: constantRate(0.1) }))).toEqual(plain)
    const rows = (count: number) => (backend: Backend) => ({
      state: { tensors: [kernel(backend, [2, count])], batchAxes: [1] },
    })
    expect(described(rows(3))).toEqual(described(rows(5)))
    expect(described(rows(3))['state']).toEqual([['kernel', [2, 'rows']]])
  })

  it('can be written as JSON, which the ranks exchange', () => {
    expect(() => JSON.stringify(plain)).not.toThrow()
    expect(plain).toMatchObject({ executor: ['reference', 'float32', undefined], saver: false, sum: 'of copies' })
  })
})
