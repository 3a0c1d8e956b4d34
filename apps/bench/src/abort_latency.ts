import {
  Dataset,
  dense,
  importWeights,
  type LayerExample,
  type ModelFitOptions,
  openBackend,
  type LayersModel,
  sequential,
} from '@cudnn-rnn/rnn'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { tableText } from '@cudnn-rnn/rnn/report'
import { generate } from '@cudnn-rnn/rnn/train'
import { spreadOf } from './statistics.js'

export interface AbortLatencyOptions {
  readonly backend: string
  /** Aborts of each place. */
  readonly aborts: number
  readonly seed: number
}

type Use = (model: LayersModel, signal: AbortSignal) => Promise<unknown>

/** The latest moment of an abort, in milliseconds after the call. */
const LATEST = 60
const SIZES = { inputSize: 8, units: 4 }
const LOSS = { loss: 'mean_squared_error', batchSize: 2 } as const
const EXAMPLES: readonly LayerExample[] = Array.from({ length: 8 }, (_, index) => ({
  input: new Array(SIZES.inputSize).fill(index),
  label: new Array(SIZES.units).fill(index),
}))
const MANY = Array.from({ length: 200_000 }, () => new Array(SIZES.inputSize).fill(1))
const silence = <Result>() => new Promise<Result>(() => {})

/** Examples that take a millisecond each; after `count` of them the source does not answer. */
function source(count: number): Dataset<LayerExample> {
  return Dataset.from(async function* () {
    for (let index = 0; index < count; index++) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      yield EXAMPLES[index % EXAMPLES.length] as LayerExample
    }
    await silence()
  })
}

const fit =
  (data: Dataset<LayerExample> | readonly LayerExample[], more: Partial<ModelFitOptions> = {}): Use =>
  (model, signal) =>
    model.fit(data, { ...LOSS, maxSteps: 1e9, signal, ...more })

/** The calls that are aborted, by the place at which each waits or computes. */
const PLACES: Readonly<Record<string, Use>> = {
  // The share of the machine in the others.
  'none: a timer of 50 ms': (_, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => setTimeout(reject, 50, signal.reason))),
  'fit: counts its examples': fit(source(1e9), { maxSteps: undefined, epochs: 1 }),
  'fit: first batch': fit(source(0)),
  'fit: later batch': fit(source(9)),
  'fit: prefetched batch': fit(source(9).prefetch(2)),
  'fit: concurrent map': fit(source(9).map((each) => each, { concurrency: 2 })),
  'fit: gradient accumulation': fit(source(9), { accumulate: 4 }),
  'fit: computes': fit(EXAMPLES),
  'fit: validation': fit(EXAMPLES, { validation: source(3), evaluateEvery: 1 }),
  'fit: evaluate': fit(EXAMPLES, { evaluate: silence, evaluateEvery: 1 }),
  'fit: onStart': fit(EXAMPLES, { onStart: () => silence() }),
  'fit: onStep': fit(EXAMPLES, { onStep: () => silence() }),
  'evaluate: source': (model, signal) => model.evaluate(source(9), { ...LOSS, signal }),
  'evaluate: computes': (model, signal) => model.evaluate(Dataset.fromArray(EXAMPLES).repeat(), { ...LOSS, signal }),
  'predict: one batch': (model, signal) =>
    model.predict({ data: new Float32Array(2e5 * SIZES.inputSize), shape: [2e5, SIZES.inputSize] }, { signal }),
  'predict: many batches': (model, signal) => model.predict(MANY, { batchSize: 64, signal }),
  'generate: next': (_, signal) => generate(() => silence<Float32Array>(), { prompt: [0], length: 2, signal }).next(),
  'importWeights: source': (_, signal) => importWeights(new Response(new ReadableStream()), { signal }),
}

/**
 * Aborts calls at random moments, wherever they wait, and measures the time until they settle.
 *
 * @returns a table, and the worst latency of all in milliseconds
 */
export async function measureAborts({ backend: name, aborts, seed }: AbortLatencyOptions) {
  const random = new Philox(seed)
  const worst: number[] = []
  const rows: string[][] = []
  using backend = await openBackend(name as 'auto')
  for (const [place, use] of Object.entries(PLACES)) {
    const latencies: number[] = []
    for (let abort = 0; abort < aborts; abort++) {
      using model = sequential(backend, [dense({ units: SIZES.units })], {
        ...{ inputSize: SIZES.inputSize, isSequence: false, seed },
      })
      const controller = new AbortController()
      const wait = LATEST * random.uniform()
      const due = performance.now() + wait
      const timer = setTimeout(() => controller.abort(), wait)
      await use(model, controller.signal).catch((error: unknown) => {
        if (error !== controller.signal.reason) throw error
      })
      clearTimeout(timer)
      // A call may end before.
      const latency = performance.now() - due
      if (controller.signal.aborted || latency > 0) latencies.push(Math.max(0, latency))
    }
    const [median, last] = [spreadOf(latencies).median, Math.max(...latencies)]
    worst.push(last)
    rows.push([place, String(latencies.length), median.toFixed(0), last.toFixed(0)])
  }
  const header = ['place', 'aborts', 'median ms', 'worst ms']
  return { table: tableText({ header, rows }), worst: Math.max(...worst) }
}
