import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { Dataset, fit, metricsLine, type Optimizer, Sgd, type StepReport } from '../../src/index.js'
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

it('fit that is aborted before its first evaluation keeps its weights', async () => {
  using backend = openReferenceBackend()
  const controller = new AbortController()
  const { options, kernel } = linearTask(backend, undefined, {
    evaluate: async () => ({ loss: 1 }),
    earlyStopping: { metric: 'loss', restoreBestWeights: true },
    onStep: () => controller.abort(),
    signal: controller.signal,
  })
  expect(await fit(options)).toMatchObject({ step: 1, ending: 'aborted', best: null })
  expect([...(await kernel.value.data())]).not.toEqual([0, 0])
})

it('fit skips updates whose gradients are not finite, reports them, and gives up after too many', async () => {
  using backend = openReferenceBackend()
  const saver = new MemorySaver(backend)
  let calls = 0
  const reports: StepReport[] = []
  const { options, kernel } = linearTask(backend, saver, {
    batchGradients: async () => {
      const data = new Float32Array(2).fill(++calls === 1 ? 1 : Number.POSITIVE_INFINITY)
      return { loss: 1, gradients: [backend.tensor({ data, shape: [2, 1] })] }
    },
    maxSkipped: 3,
    onStep: (report) => void reports.push(report),
  })
  await expect(fit(options)).rejects.toThrow(coded('ERR_NON_FINITE_GRADIENTS', { step: 4, skipped: 3 }))
  expect(reports.map(({ skipped }) => skipped)).toEqual([false, true, true, true])
  expect(metricsLine(reports[1])).toContain('"gradientNorm":"Infinity"')
  expect((await kernel.value.read()).data.every(Number.isFinite)).toBe(true)
  expect(options.optimizer.step).toBe(1)
})

it('fit averages accumulated gradients: two halves equal one batch', async () => {
  using backend = openReferenceBackend()
  const trained = async (accumulate: number, batches: readonly (readonly number[])[]) => {
    const { options, kernel } = linearTask(backend, new MemorySaver(backend), {
      accumulate,
      maxSteps: 1,
      data: Dataset.fromArray(batches),
      batchGradients: async (batch) => {
        const data = Float32Array.of(batch.reduce((sum, x) => sum + x, 0) / batch.length, 1)
        return { loss: 0, gradients: [backend.tensor({ data, shape: [2, 1] })] }
      },
    })
    await fit(options)
    return [...(await kernel.value.read()).data]
  }
  expect(
    await trained(2, [
      [1, 2],
      [3, 6],
    ]),
  ).toEqual(await trained(1, [[1, 2, 3, 6]]))
})

it('fit clamps gradients to clipValue, then scales them to clipNorm, and reports the norm before', async () => {
  using backend = openReferenceBackend()
  const step = async (clipping: { clipValue?: number; clipNorm?: number | undefined }) => {
    let gradientNorm = 0
    const variable = { name: 'v', backend, value: backend.zeros([2]) }
    await fit({
      data: Dataset.fromArray([0]),
      batchGradients: async () => ({
        loss: 0,
        gradients: [backend.tensor({ data: Float32Array.of(-30, 40), shape: [2] })],
      }),
      optimizer: new Sgd([variable]),
      learningRate: () => 1,
      maxSteps: 1,
      onStep: (report) => {
        gradientNorm = report.gradientNorm
      },
      ...clipping,
    })
    return { gradientNorm, elements: [...(await variable.value.read()).data] }
  }
  expect(await step({ clipNorm: undefined })).toEqual({ gradientNorm: 50, elements: [30, -40] })
  expect(await step({ clipNorm: 5 })).toEqual({ gradientNorm: 50, elements: [3, -4] })
  expect(await step({ clipValue: 32 })).toEqual({ gradientNorm: 50, elements: [30, -32] })
  const both = await step({ clipValue: 1, clipNorm: 1 })
  expect(both.elements.map((element) => element.toFixed(6))).toEqual(['0.707107', '-0.707107'])
})

it('fit makes up for an evaluation that was aborted, so that the run equals an uninterrupted one', async () => {
  using backend = openReferenceBackend()
  const run = async (stopAt?: number, from?: MemorySaver) => {
    const saver = new MemorySaver(backend, from)
    const controller = new AbortController()
    const reports: StepReport[] = []
    let evaluations = 0
    const { options, kernel } = linearTask(backend, saver, {
      signal: controller.signal,
      evaluate: async () => {
        if (++evaluations !== stopAt) return { loss: (await kernel.value.read()).data[0] }
        controller.abort()
        return await new Promise(() => {})
      },
      earlyStopping: { metric: 'loss' },
      onStep: (report) => void reports.push({ ...report, seconds: 0 }),
    })
    return { result: await fit(options), saver, reports }
  }
  const whole = await run()
  const first = await run(2)
  expect(first.result).toMatchObject({ ending: 'aborted', step: 14 })
  const second = await run(undefined, first.saver)
  expect([...first.reports, ...second.reports]).toEqual(whole.reports)
  expect(second.result.best).toEqual(whole.result.best)
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

it('fit never takes an infinity for the best', async () => {
  using backend = openReferenceBackend()
  const losses = [Number.NEGATIVE_INFINITY, 2, Number.NaN]
  const evaluate = async () => ({ loss: losses.shift() ?? 3 })
  const { options } = linearTask(backend, new MemorySaver(backend), { evaluate, earlyStopping: { metric: 'loss' } })
  expect((await fit(options)).best).toMatchObject({ value: 2, step: 14 })
})

it('fit fails where no step updated anything, however few there are', async () => {
  using backend = openReferenceBackend()
  const batchGradients = async () => ({ loss: Number.NaN, gradients: [backend.zeros([2, 1])] })
  const { options } = linearTask(backend, new MemorySaver(backend), { batchGradients, maxSteps: 3 })
  await expect(fit(options)).rejects.toMatchObject({ code: 'ERR_NON_FINITE_GRADIENTS', step: 3, skipped: 3 })
})

it('fit returns its history: the mean loss of the steps of each evaluation, and of the rest', async () => {
  using backend = openReferenceBackend()
  const reports: StepReport[] = []
  const { options } = linearTask(backend, new MemorySaver(backend), {
    maxSteps: 9,
    onStep: (r) => void reports.push(r),
  })
  const mean = (some: StepReport[]) => some.reduce((sum, { loss }) => sum + loss, 0) / some.length
  expect((await fit(options)).history).toEqual([
    { step: 7, loss: mean(reports.slice(0, 7)), skipped: 0 },
    { step: 9, loss: mean(reports.slice(7)), skipped: 0 },
  ])
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

it.each([
  ['a name with a letter missing', { clipnorm: 1 }, 'ERR_UNKNOWN_OPTION', 'Did you mean clipNorm?'],
  ['text for a rate', { learningRate: '0.1' }, 'ERR_INVALID_OPTION_TYPE', 'cosineRate'],
  ['a negative rate', { learningRate: -0.1 }, 'ERR_HYPERPARAMETER', 'learningRate'],
  ['an array for a dataset', { data: [1, 2] }, 'ERR_INVALID_OPTION_TYPE', 'Dataset.fromArray'],
  ['a promise for an optimizer', { optimizer: Promise.resolve() }, 'ERR_INVALID_OPTION_TYPE', 'new Adam'],
  [
    'gradients that were not returned',
    { batchGradients: async () => ({ loss: 1 }) },
    'ERR_NOT_A_BATCH_RESULT',
    'must resolve to',
  ],
  ['nothing for a batch', { batchGradients: async () => undefined }, 'ERR_NOT_A_BATCH_RESULT', 'must resolve to'],
])('fit refuses %s', async (_, wrong, code, hint) => {
  using backend = openReferenceBackend()
  const { options } = linearTask(backend, new MemorySaver(backend), wrong as never)
  const training = fit(options)
  await expect(training).rejects.toThrow(coded(code))
  await expect(training).rejects.toThrow(hint)
  expect((options.optimizer as Partial<Optimizer>).step ?? 0).toBe(0)
})

it('fit takes a number for a constant rate', async () => {
  using backend = openReferenceBackend()
  const rates: number[] = []
  const onStep = ({ learningRate }: StepReport) => void rates.push(learningRate)
  await fit(linearTask(backend, new MemorySaver(backend), { learningRate: 0.25, maxSteps: 3, onStep }).options)
  expect(rates).toEqual([0.25, 0.25, 0.25])
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
