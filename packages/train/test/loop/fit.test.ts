import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { Dataset, fit, metricsLine, type StepReport } from '../../src/index.js'
import { linearTask, MemorySaver } from './linear_task.js'

it('fit learns, reports every step and leaves no tensor behind', async () => {
  using backend = openReferenceBackend()
  const reports: StepReport[] = []
  const { options, kernel } = linearTask(backend, new MemorySaver(backend), {
    onStep: (report) => void reports.push(report),
  })
  const { tensors } = backend.stats()
  const result = await fit(options)
  expect(result).toMatchObject({ step: 60, ending: 'finished' })
  expect(backend.stats().tensors).toBe(tensors)
  const [a, b] = (await kernel.value.read()).data
  expect(Math.abs(a - 2)).toBeLessThan(0.1)
  expect(Math.abs(b + 1)).toBeLessThan(0.1)
  expect(reports.map(({ step }) => step)).toEqual(Array.from({ length: 60 }, (_, k) => k + 1))
  expect(JSON.parse(metricsLine(reports[0]))).toMatchObject({ step: 1, skipped: false })
})

it.each([1, 7, 8, 33, 59])(
  'fit that was stopped after step %d and resumed equals an uninterrupted run, step for step',
  async (stopAt) => {
    const run = async (steps: number | undefined, from?: MemorySaver) => {
      using backend = openReferenceBackend()
      const saver = new MemorySaver(backend, from)
      const abort = new AbortController()
      const lines: string[] = []
      const { options, kernel } = linearTask(backend, saver, {
        accumulate: 2,
        signal: abort.signal,
        onStep: (report) => {
          lines.push(metricsLine({ ...report, seconds: 0 }))
          if (report.step === steps) abort.abort()
        },
      })
      const { ending } = await fit(options)
      return { ending, saver, lines, elements: [...(await kernel.value.read()).data] }
    }
    const whole = await run(undefined)
    const first = await run(stopAt)
    expect(first.ending).toBe('aborted')
    const second = await run(undefined, first.saver)
    expect([...first.lines, ...second.lines]).toEqual(whole.lines)
    expect(second.elements).toEqual(whole.elements)
  },
)

it('fit that dies between checkpoints resumes from the latest one', async () => {
  using backend = openReferenceBackend()
  const saver = new MemorySaver(backend)
  const dying = linearTask(backend, saver, {
    onStep: ({ step }) => {
      if (step === 17) throw new Error('killed')
    },
  })
  await expect(fit(dying.options)).rejects.toThrow('killed')
  const resumed: number[] = []
  await fit(linearTask(backend, saver, { onStep: ({ step }) => void resumed.push(step) }).options)
  expect(resumed[0]).toBe(15)
})

it('fit stops early, and keeps the best apart from the latest', async () => {
  using backend = openReferenceBackend()
  const saver = new MemorySaver(backend)
  const losses = [3, 2, 2.5, 2.1, Number.NaN, 1]
  const { options } = linearTask(backend, saver, {
    evaluate: async () => ({ loss: losses.shift()! }),
    evaluateEvery: 2,
    earlyStopping: { metric: 'loss', patience: 3 },
  })
  const result = await fit(options)
  const { history, ...rest } = result
  expect(rest).toEqual({ step: 10, ending: 'stopped early', best: { value: 2, step: 4, evaluationsSince: 3 } })
  expect(history.map(({ step, metrics }) => [step, metrics?.loss])).toEqual([
    [2, 3],
    [4, 2],
    [6, 2.5],
    [8, 2.1],
    [10, Number.NaN],
  ])
  expect(JSON.parse(saver.saved.get('best')!.record)).toMatchObject({ step: 4 })
  expect(JSON.parse(saver.saved.get('latest')!.record)).toMatchObject({ step: 10 })
  expect(await fit(linearTask(backend, saver, options).options)).toMatchObject({ step: 10, ending: 'stopped early' })
})

it.each([
  ['a saver', true],
  ['a copy', false],
])('fit gives the variables their best values, from %s', async (_, isSaved) => {
  using backend = openReferenceBackend()
  const seen: number[][] = []
  const losses = [3, 2, 2.5, 2.1]
  const task = linearTask(backend, isSaved ? new MemorySaver(backend) : undefined, {
    async evaluate() {
      seen.push([...(await task.kernel.value.data())])
      return { loss: losses[seen.length - 1] }
    },
    evaluateEvery: 2,
    earlyStopping: { metric: 'loss', patience: 2, restoreBestWeights: true },
  })
  const { tensors } = backend.stats()
  expect(await fit(task.options)).toMatchObject({ step: 8, ending: 'stopped early', best: { step: 4 } })
  expect([...(await task.kernel.value.data())]).toEqual(seen[1])
  expect(backend.stats().tensors).toBe(tensors)
})

it.each([
  ['a text', { loss: 'x' }],
  ['no object', 3],
  ['nothing', undefined],
])('fit refuses %s for metrics', async (_, metrics) => {
  using backend = openReferenceBackend()
  const { options } = linearTask(backend, new MemorySaver(backend), { evaluate: async () => metrics as never })
  await expect(fit(options)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
})

it('fit refuses variables that another fit trains, until that one ends', async () => {
  using backend = openReferenceBackend()
  const { options } = linearTask(backend, new MemorySaver(backend), { maxSteps: 2 })
  const first = fit(options)
  await expect(fit(options)).rejects.toThrow(coded('ERR_BEING_TRAINED'))
  await first
  expect((await fit(options)).step).toBe(2)
})

it('fit lets signals and timers in between steps', async () => {
  using backend = openReferenceBackend()
  const { options } = linearTask(backend, new MemorySaver(backend), {
    signal: AbortSignal.timeout(20),
    maxSteps: 10_000_000,
  })
  expect(await fit(options)).toMatchObject({ ending: 'aborted' })
})

it('fit ends with its data, and refuses to watch a metric that is not there', async () => {
  using backend = openReferenceBackend()
  const saver = new MemorySaver(backend)
  const few = Dataset.fromArray([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]).batch(5)
  expect(await fit(linearTask(backend, saver, { data: few }).options)).toMatchObject({ step: 2, ending: 'out of data' })
  const wrong = linearTask(backend, new MemorySaver(backend), {
    evaluate: async () => ({ loss: 1 }),
    earlyStopping: { metric: 'los' },
  })
  await expect(fit(wrong.options)).rejects.toThrow(coded('ERR_UNKNOWN_METRIC'))
})

it('fit saves every saveEvery steps, without an evaluation', async () => {
  using backend = openReferenceBackend()
  const saver = new MemorySaver(backend)
  const evaluated: number[] = []
  const { options } = linearTask(backend, saver, {
    maxSteps: 10,
    evaluateEvery: 6,
    saveEvery: 4,
    evaluate: async () => ({ loss: 1 }),
    onStep: ({ step, metrics }) => void (metrics && evaluated.push(step)),
  })
  const steps: number[] = []
  const save = saver.save.bind(saver)
  saver.save = async (kind, tensors, record) => {
    steps.push(record.step)
    await save(kind, tensors, record)
  }
  await fit(options)
  expect(evaluated).toEqual([6, 10])
  expect(steps).toEqual([4, 6, 8, 10])
  for (const saveEvery of [0, -1, Number.NaN]) {
    const wrong = linearTask(backend, new MemorySaver(backend), { saveEvery })
    await expect(fit(wrong.options)).rejects.toThrow(coded('ERR_HYPERPARAMETER'))
  }
})

it('fit holds the lock of its saver until it ends, and trains a finished run longer', async () => {
  using backend = openReferenceBackend()
  const saver = new MemorySaver(backend)
  let held = 0
  const locking = Object.assign(saver, {
    lock: async () => {
      held++
      return { [Symbol.asyncDispose]: async () => void held-- }
    },
  })
  await fit(linearTask(backend, locking, { maxSteps: 7, onStep: () => expect(held).toBe(1) }).options)
  expect(held).toBe(0)
  const steps: number[] = []
  const longer = linearTask(backend, locking, { maxSteps: 9, onStep: ({ step }) => void steps.push(step) })
  expect(await fit(longer.options)).toMatchObject({ step: 9, ending: 'finished' })
  expect(steps).toEqual([8, 9])
  const failing = linearTask(backend, locking, {
    maxSteps: 12,
    onStep: () => {
      throw new Error('stop')
    },
  })
  await expect(fit(failing.options)).rejects.toThrow('stop')
  expect(held).toBe(0)
})

it('fit reports at its start, in its log and in its result which checkpoints a resume passed over', async () => {
  using backend = openReferenceBackend()
  const saver = new MemorySaver(backend)
  await fit(linearTask(backend, saver, { maxSteps: 7 }).options)
  const skipped = [{ path: 'model-14', code: 'ERR_CHECKPOINT_CHECKSUM', message: 'a checksum is wrong' }]
  const restore = saver.restore.bind(saver)
  saver.restore = async (tensors) => {
    const record = await restore(tensors)
    return record && { ...record, skipped }
  }
  const lines: string[] = []
  const started: unknown[] = []
  const { options } = linearTask(backend, saver, {
    maxSteps: 9,
    onStart: (...args) => void started.push(args),
    onStep: (report) => void lines.push(metricsLine(report)),
  })
  expect(await fit(options)).toMatchObject({ skipped })
  expect(started).toEqual([[7, { step: 7, skipped }]])
  expect(lines.map((line) => JSON.parse(line).resumed)).toEqual([{ step: 7, skipped }, undefined])
})
