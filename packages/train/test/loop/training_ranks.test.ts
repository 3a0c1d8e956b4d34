import { type LocalCommunicator, localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { Adam, type Communicator, constantRate, Dataset, type FitOptions, Sgd } from '../../src/index.js'
import { SeveralRanks } from '../../src/loop/several_ranks.js'
import { TrainingRanks } from '../../src/loop/training_ranks.js'
import { trainingDescription } from '../../src/loop/training_description.js'
import type { TrainingRecord } from '../../src/loop/training_saver.js'

type Backend = ReturnType<typeof openReferenceBackend>

/** Runs `work` on ranks of this thread, each with a variable [2] of zeros. */
async function over<Result>(
  size: number,
  work: (ranks: SeveralRanks, rank: number, backend: Backend, communicator: LocalCommunicator) => Promise<Result>,
) {
  return await Promise.allSettled(
    localCommunicators(size).map(async (communicator, rank) => {
      using backend = openReferenceBackend()
      const variables = [{ name: 'x', backend, value: backend.zeros([2]) }]
      const ranks = new SeveralRanks(communicator as unknown as Communicator, backend, variables, {})
      return await work(ranks, rank, backend, communicator)
    }),
  )
}

const reasons = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  outcomes.map((each) => (each.status === 'rejected' ? (each.reason as Error) : undefined))
const values = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  outcomes.map((each) => (each.status === 'fulfilled' ? each.value : each.reason))

const record: TrainingRecord = {
  ...{ step: 3, optimizerStep: 3, position: null, best: null, skippedInARow: 0 },
  extra: ['a', 'b', 'c'],
}

describe('SeveralRanks', () => {
  it('compares descriptions entry by entry, infinities and absent ones among them', async () => {
    const same = await over(2, (ranks) => ranks.compare(() => ({ steps: Number.POSITIVE_INFINITY, wire: undefined })))
    expect(reasons(same)).toEqual([undefined, undefined])
    const other = await over(3, (ranks, rank) => ranks.compare(() => ({ a: 1, b: [rank === 2 ? 'x' : 'y'] })))
    for (const reason of reasons(other)) {
      expect(reason).toMatchObject({ code: 'ERR_RANKS_DIFFER', difference: 'b', rank: 2 })
      expect(reason?.message).toContain('rank 0 has ["y"], rank 2 has ["x"]')
    }
  })

  it('keeps the first failure of a rank until the next call of all', async () => {
    const outcomes = await over(2, async (ranks, rank) => {
      const result = await ranks.attempt(() => (rank === 1 ? Promise.reject(new Error('first')) : 5))
      await ranks.attempt(() => (rank === 1 ? Promise.reject(new Error('second')) : 5))
      expect(result).toBe(rank === 1 ? undefined : 5)
      await ranks.shareSignal()
    })
    const [first, second] = reasons(outcomes)
    expect(first).toMatchObject({ code: 'ERR_RANK_FAILED', rank: 1, message: expect.stringContaining('first') })
    expect(second?.message).toBe('first')
  })

  it('runs the work of the first rank there alone', async () => {
    const ran: number[] = []
    await over(3, async (ranks, rank) => {
      await ranks.attemptFirst(() => ran.push(rank))
      await ranks.shareSignal()
    })
    expect(ran).toEqual([0])
  })

  it('locks on the first rank, and rejects on all where the lock is taken', async () => {
    const locks: number[] = []
    const lock = (rank: number) => ({
      lock: async () => {
        locks.push(rank)
        return { [Symbol.asyncDispose]: async () => {} }
      },
    })
    const locked = await over(2, (ranks, rank) => ranks.lock(lock(rank) as never))
    expect(locks).toEqual([0])
    expect(values(locked).map((each) => each !== undefined)).toEqual([true, false])
    const taken = { lock: () => Promise.reject(new Error('another process trains')) }
    const [first, second] = reasons(await over(2, (ranks) => ranks.lock(taken as never)))
    expect(first?.message).toBe('another process trains')
    expect(second).toMatchObject({ code: 'ERR_RANK_FAILED', rank: 0 })
  })

  it('hands the metrics of the first rank to all, also those that JSON lacks', async () => {
    const metrics = [{ loss: Number.POSITIVE_INFINITY, accuracy: Number.NaN, step: 0.1 }, { loss: 7 }]
    const outcomes = await over(2, (ranks, rank) => ranks.evaluate(async () => metrics[rank] as Record<string, number>))
    expect(values(outcomes)).toEqual([metrics[0], metrics[0]])
  })

  it('refuses to evaluate variables that differ in one bit', async () => {
    const outcomes = await over(3, async (_, rank, backend, communicator) => {
      const value = backend.tensor({ data: Float32Array.of(0, rank === 1 ? 2 ** -149 : 0), shape: [2] })
      const ranks = new SeveralRanks(
        communicator as unknown as Communicator,
        backend,
        [{ name: 'x', backend, value }],
        {},
      )
      return await ranks.evaluate(undefined)
    })
    for (const reason of reasons(outcomes)) expect(reason).toMatchObject({ code: 'ERR_RANKS_DIVERGED', rank: 1 })
  })

  it('stops on all ranks for the signal of one', async () => {
    const outcomes = await Promise.all(
      localCommunicators(2).map(async (communicator, rank) => {
        using backend = openReferenceBackend()
        const signal = rank === 1 ? AbortSignal.abort() : undefined
        const ranks = new SeveralRanks(communicator as unknown as Communicator, backend, [], { signal })
        const before = ranks.isStopping
        await ranks.shareSignal()
        return [before, ranks.isStopping]
      }),
    )
    expect(outcomes).toEqual([
      [false, true],
      [false, true],
    ])
  })

  it('gives each rank its state, and those of a larger number the states of the smaller in turn', async () => {
    const outcomes = await over(4, async (ranks) => ranks.ownState({ ...record, ranks: 3 }))
    expect(values(outcomes)).toEqual([
      { saved: 'a', by: { rank: 0, size: 3 } },
      { saved: 'b', by: { rank: 1, size: 3 } },
      { saved: 'c', by: { rank: 2, size: 3 } },
      { saved: 'a', by: { rank: 0, size: 3 } },
    ])
    const alone = await over(2, async (ranks) => ranks.ownState({ ...record, extra: 'whole' }))
    expect(values(alone)).toEqual([0, 1].map(() => ({ saved: 'whole', by: { rank: 0, size: 1 } })))
  })

  it('gathers the states in the order of ranks', async () => {
    const outcomes = await over(2, (ranks, rank) => ranks.gatherState(async () => ({ draws: rank })))
    const state = { extra: [{ draws: 0 }, { draws: 1 }], ranks: 2 }
    expect(values(outcomes)).toEqual([state, state])
  })
})

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
  it('takes the state of the first rank of several, and null where there is none', () => {
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
