import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Comparison, Series } from '../src/comparison.js'
import { type BenchContext, runComparison } from '../src/comparison_run.js'
import { executorImplementation } from '../src/implementation_table.js'
import { writeTensorFile } from '../src/tensor_file.js'
import { TimeBudget } from '../src/time_budget.js'

const folder = mkdtempSync(join(tmpdir(), 'comparison-run-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

const series = (implementation: string, changes: Partial<Series> = {}): Series => ({
  implementation,
  threads: 2,
  precision: 'float32',
  pass: 'inference',
  ...changes,
})

const comparisonOf = (...seriesList: Series[]): Comparison => ({
  id: 'grid/rnn_tanh/inference/1x2x3',
  workload: { cellMode: 'rnn_tanh', numLayers: 1, bidirectional: false, batch: 1, time: 2, inputSize: 3, numUnits: 3 },
  seriesList,
})

/** Implementations with given results: the value of every output, and the time of every run. */
function context(outputs: Record<string, number>, times: Record<string, number> = {}) {
  const turns: string[] = []
  const discarded: string[] = []
  const answers = (name: string) => ({
    prepare: () => ({ firstMs: times[name] ?? 1 }),
    results: () => {
      const output = { data: new Float32Array(6).fill(outputs[name] ?? 0), shape: [2, 1, 3] }
      return { file: writeTensorFile(join(folder, name), { output }) }
    },
    run: () => {
      turns.push(name)
      if (name === 'crashing') throw new Error('Segmentation fault')
      return { times: [times[name] ?? 1] }
    },
    release: () => ({}),
  })
  const made: BenchContext = {
    pool: {
      folder,
      implementation: executorImplementation,
      discard: async ({ implementation }) => void discarded.push(implementation),
      process: async ({ implementation, precision }) => {
        if (outputs[implementation] === undefined) return `${implementation} has no ${precision}`
        const table = answers(implementation)
        return { request: async (name: keyof typeof table) => table[name]() as never } as never
      },
    },
    budget: new TimeBudget(100),
    rounds: 3,
    sliceMs: 10,
  }
  return { context: made, turns, discarded }
}

describe('runComparison', () => {
  it('lets series take turns in the order of a balanced Latin square', async () => {
    const { context: shared, turns } = context({ a: 0.5, b: 0.5, c: 0.5 })
    await runComparison(comparisonOf(series('a'), series('b'), series('c')), shared)
    expect(turns.join('')).toBe('acbbaccba')
  })

  it('pools the times of all turns', async () => {
    const { context: shared } = context({ a: 0.5 }, { a: 4 })
    const { results } = await runComparison(comparisonOf(series('a')), shared)
    expect(results[0]?.outcome).toMatchObject({ status: 'measured', spread: { median: 4, samples: 3 } })
  })

  it('refuses who computes other numbers than the first, and shows no time', async () => {
    const { context: shared, turns } = context({ a: 0.5, wrong: 0.5625, close: 0.5 + 2 ** -20 })
    const { results } = await runComparison(comparisonOf(series('a'), series('wrong'), series('close')), shared)
    expect(results[1]?.outcome).toEqual({ status: 'differs', difference: 0.0625 })
    expect(results[2]?.outcome).toMatchObject({ status: 'measured', difference: 2 ** -20 })
    expect(turns).not.toContain('wrong')
  })

  it('lets smaller weights differ, and reports by how much', async () => {
    const { context: shared } = context({ a: 0.5, b: 0.5625 })
    const { results } = await runComparison(comparisonOf(series('a'), series('b', { precision: 'int8' })), shared)
    expect(results[1]?.outcome).toMatchObject({ status: 'measured', difference: 0.0625 })
  })

  it('skips who cannot play here and who would take too long', async () => {
    const { context: shared } = context({ slow: 0.5 }, { slow: 200 })
    const first = await runComparison(comparisonOf(series('absent'), series('slow')), shared)
    expect(first.results[0]?.outcome).toEqual({ status: 'skipped', reason: 'absent has no float32' })
    const second = await runComparison(comparisonOf(series('slow')), shared)
    expect(second.results[0]?.outcome).toEqual({
      status: 'skipped',
      reason: 'would take about 0.2 s a run, more than 0.1 s',
    })
  })

  it('continues without an implementation that crashes, and ends its process', async () => {
    const { context: shared, turns, discarded } = context({ crashing: 0.5, b: 0.5 })
    const { results } = await runComparison(comparisonOf(series('crashing'), series('b')), shared)
    expect(results[0]?.outcome).toEqual({ status: 'failed', reason: 'Segmentation fault' })
    expect(results[1]?.outcome.status).toBe('measured')
    expect(turns.filter((name) => name === 'crashing')).toHaveLength(1)
    expect(discarded).toEqual(['crashing'])
  })
})
