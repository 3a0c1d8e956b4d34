import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { Dataset, fit, metricsLine, type Optimizer, Sgd, type StepReport } from '../../src/index.js'
import { linearTask, MemorySaver } from './linear_task.js'

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
