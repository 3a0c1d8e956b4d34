import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import type { Comparison, Lane } from '../src/comparison.js'
import { type BenchContext, runComparison } from '../src/comparison_run.js'
import { executorImplementation } from '../src/implementation_table.js'
import { writeTensorFile } from '../src/tensor_file.js'
import { TimeBudget } from '../src/time_budget.js'

const folder = mkdtempSync(join(tmpdir(), 'comparison-run-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

const lane = (implementation: string, changes: Partial<Lane> = {}): Lane => ({
  implementation,
  threads: 2,
  weights: 'float32',
  pass: 'inference',
  busy: false,
  ...changes,
})

const comparisonOf = (...lanes: Lane[]): Comparison => ({
  id: 'table/rnn_tanh/inference/1x2x3',
  section: 'table',
  workload: { cellMode: 'rnn_tanh', numLayers: 1, bidirectional: false, batch: 1, time: 2, inputSize: 3, numUnits: 3 },
  lanes,
})

/** Implementations with given results: the value of every output, and the time of every run. */
function context(outputs: Record<string, number>, times: Record<string, number> = {}) {
  const turns: string[] = []
  const discarded: string[] = []
  const loadGenerator = { running: false }
  const answers = (name: string) => ({
    prepare: () => ({ firstMs: times[name] ?? 1 }),
    results: () => {
      const output = { data: new Float32Array(6).fill(outputs[name] ?? 0), shape: [2, 1, 3] }
      return { file: writeTensorFile(join(folder, name), { output }) }
    },
    run: () => {
      turns.push(loadGenerator.running ? `${name} busy` : name)
      if (name === 'crashing') throw new Error('Segmentation fault')
      return { times: [times[name] ?? 1] }
    },
    release: () => ({}),
  })
  const made: BenchContext = {
    pool: {
      implementation: executorImplementation,
      discard: async ({ implementation }) => void discarded.push(implementation),
      process: async ({ implementation, weights }) => {
        if (outputs[implementation] === undefined) return `${implementation} has no ${weights}`
        const table = answers(implementation)
        return { request: async (name: keyof typeof table) => table[name]() as never } as never
      },
    },
    loadGenerator,
    budget: new TimeBudget(100),
    rounds: 3,
    sliceMs: 10,
  }
  return { context: made, turns, discarded }
}

describe('runComparison', () => {
  it('lets lanes take turns, another one beginning in every round', async () => {
    const { context: among, turns } = context({ a: 0.5, b: 0.5, c: 0.5 })
    await runComparison(comparisonOf(lane('a'), lane('b'), lane('c')), among)
    expect(turns.join('')).toBe('abcbcacab')
  })

  it('pools the times of all turns', async () => {
    const { context: among } = context({ a: 0.5 }, { a: 4 })
    const { results, flops } = await runComparison(comparisonOf(lane('a')), among)
    expect(results[0]?.outcome).toMatchObject({ status: 'measured', spread: { median: 4, samples: 3 } })
    expect(flops).toBe(2 * 2 * 3 * 6)
  })

  it('refuses who computes other numbers than the first, and shows no time', async () => {
    const { context: among, turns } = context({ a: 0.5, wrong: 0.5625, close: 0.5 + 2 ** -20 })
    const { results } = await runComparison(comparisonOf(lane('a'), lane('wrong'), lane('close')), among)
    expect(results[1]?.outcome).toEqual({ status: 'differs', difference: 0.0625 })
    expect(results[2]?.outcome).toMatchObject({ status: 'measured', difference: 2 ** -20 })
    expect(turns).not.toContain('wrong')
  })

  it('lets smaller weights differ, and reports by how much', async () => {
    const { context: among } = context({ a: 0.5, b: 0.5625 })
    const { results } = await runComparison(comparisonOf(lane('a'), lane('b', { weights: 'int8' })), among)
    expect(results[1]?.outcome).toMatchObject({ status: 'measured', difference: 0.0625 })
  })

  it('skips who cannot play here and who would take too long', async () => {
    const { context: among } = context({ slow: 0.5 }, { slow: 200 })
    const first = await runComparison(comparisonOf(lane('absent'), lane('slow')), among)
    expect(first.results[0]?.outcome).toEqual({ status: 'skipped', reason: 'absent has no float32' })
    const second = await runComparison(comparisonOf(lane('slow')), among)
    expect(second.results[0]?.outcome).toEqual({
      status: 'skipped',
      reason: 'would take about 0.2 s a run, more than 0.1 s',
    })
  })

  it('continues without an implementation that crashes, and ends its process', async () => {
    const { context: among, turns, discarded } = context({ crashing: 0.5, b: 0.5 })
    const { results } = await runComparison(comparisonOf(lane('crashing'), lane('b')), among)
    expect(results[0]?.outcome).toEqual({ status: 'failed', reason: 'Segmentation fault' })
    expect(results[1]?.outcome.status).toBe('measured')
    expect(turns.filter((name) => name === 'crashing')).toHaveLength(1)
    expect(discarded).toEqual(['crashing'])
  })

  it('burns the cores in the turns of busy lanes only', async () => {
    const { context: among, turns } = context({ a: 0.5 })
    await runComparison(comparisonOf(lane('a'), lane('a', { busy: true })), among)
    expect(turns.toSorted()).toEqual(['a', 'a', 'a', 'a busy', 'a busy', 'a busy'])
  })
})
