import { type Backend, DTYPES } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { testedExecutors } from '../src/executors.js'
import type { Program } from '../src/program.js'

const PROBLEMS = 600

/** Logits of each kind; cuDNN computes great ones in single precision, in which their differences have no digits. */
const KINDS = {
  ordinary: fc.double({ min: -8, max: 8, noNaN: true }),
  'not finite': fc.oneof(
    { arbitrary: fc.double({ min: -8, max: 8, noNaN: true }), weight: 9 },
    fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
  ),
  great: fc.double({ min: -3e38, max: 3e38, noNaN: true }),
  'of all magnitudes': fc
    .tuple(fc.integer({ min: -3, max: 38 }), fc.double({ min: -1, max: 1, noNaN: true }))
    .map(([power, factor]) => factor * 10 ** power),
} as const
type Kind = keyof typeof KINDS

const problemOf = (kind: Kind) =>
  fc
    .record({
      time: fc.integer({ min: 1, max: 6 }),
      batch: fc.integer({ min: 1, max: 3 }),
      classes: fc.integer({ min: 2, max: 5 }),
    })
    .chain(({ time, batch, classes }) =>
      fc.record({
        sizes: fc.constant([time, batch, classes] as const),
        logits: fc.array(KINDS[kind], { minLength: time * batch * classes, maxLength: time * batch * classes }),
        labels: fc.array(fc.array(fc.integer({ min: 1, max: classes - 1 }), { maxLength: time }), {
          minLength: batch,
          maxLength: batch,
        }),
        logitLengths: fc.array(fc.integer({ min: 1, max: time }), { minLength: batch, maxLength: batch }),
        infeasible: fc.constantFrom('infinite', 'nan', 'zero'),
      }),
    )
type Problem = ReturnType<typeof problemOf> extends fc.Arbitrary<infer T> ? T : never

async function resultsOf(backend: Backend, { sizes, logits, labels, logitLengths, infeasible }: Problem) {
  const columns = Math.max(1, ...labels.map(({ length }) => length))
  const target = Int32Array.from(
    { length: labels.length * columns },
    (_, k) => labels[Math.floor(k / columns)]?.[k % columns] ?? 0,
  )
  const data = new DTYPES[backend.dtype].array(Float32Array.from(logits))
  const lengths = { logitLengths, labelLengths: labels.map(({ length }) => length), blank: 0, infeasible }
  const result = await backend.ops.ctcLoss(
    { data, shape: sizes },
    { data: target, shape: [labels.length, columns] },
    lengths,
  )
  const tensors = [result.loss, result.rowLosses, result.logitsGradient]
  const values = await Promise.all(tensors.map(async (tensor) => Array.from((await tensor.read()).data)))
  for (const tensor of tensors) tensor.dispose()
  return values.flat()
}

/** Elements that are not finite are equal on all executors; the others are within a tolerance of their size. */
function difference(actual: readonly number[], expected: readonly number[]): string | undefined {
  for (const [index, value] of expected.entries()) {
    const isClose =
      Object.is(actual[index], value) ||
      Math.abs((actual[index] ?? Number.NaN) - value) <= 1e-5 * Math.max(1, Math.abs(value))
    if (!isClose) return `element ${index} is ${actual[index]}, expected ${value}`
  }
  return undefined
}

describe.each(testedExecutors().found)('CTC losses of $name', ({ name, open }) => {
  const kinds = (Object.keys(KINDS) as Kind[]).filter(
    (kind) => !name.startsWith('cudnn') || kind === 'ordinary' || kind === 'not finite',
  )
  it.each(kinds)('are those of the reference, in random problems: %s', { timeout: 120_000 }, async (kind) => {
    using reference = openReferenceBackend()
    const backend = await open({ dtype: 'float32', threads: 2 } as Program)
    const property = fc.asyncProperty(problemOf(kind), async (problem) => {
      expect(difference(await resultsOf(backend, problem), await resultsOf(reference, problem))).toBeUndefined()
    })
    try {
      await fc.assert(property, { numRuns: PROBLEMS / kinds.length, seed: 20261121 })
    } finally {
      backend.dispose()
    }
  })
})
