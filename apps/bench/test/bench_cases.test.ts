import { describe, expect, it } from 'vitest'
import { benchCases } from '../src/bench_cases.js'
import { BASELINES, executorImplementation } from '../src/implementation_table.js'

const implementations = [
  executorImplementation('cpu'),
  ...BASELINES.filter(({ name }) => ['onnxruntime', 'pytorch'].includes(name)),
]
const selection = { implementations, threads: [1, 2], seed: 1, drawn: 40, full: false }
const cases = benchCases(selection)
const drawn = cases.filter(({ id }) => id.startsWith('drawn-'))

describe('benchCases', () => {
  it('has each size of the grid with each number of threads, each network once', () => {
    expect(cases.filter(({ id }) => id.startsWith('grid/'))).toHaveLength(6 * 5 * 2)
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length)
    expect(benchCases({ ...selection, full: true, drawn: 0 })).toHaveLength(4 * 2 * 6 * 5 * 2 + 8)
  })

  it('draws the same networks from a seed, and others from another', () => {
    expect(benchCases(selection)).toEqual(cases)
    expect(benchCases({ ...selection, seed: 2 }).filter(({ id }) => id.startsWith('drawn-'))).not.toEqual(drawn)
  })

  it('draws sizes, layers, directions, inputs and passes of every kind', () => {
    expect(drawn).toHaveLength(40)
    for (const { workload } of drawn) {
      expect(workload.numUnits).toBeGreaterThanOrEqual(16)
      expect(workload.numUnits).toBeLessThanOrEqual(512)
      expect(workload.inputSize).toBeGreaterThanOrEqual(1)
    }
    const kinds = (of: (workload: (typeof drawn)[number]['workload']) => unknown) =>
      new Set(drawn.map(({ workload }) => of(workload))).size
    expect(kinds(({ cellMode }) => cellMode)).toBe(4)
    expect(kinds(({ time }) => time)).toBe(4)
    expect(kinds(({ numLayers }) => numLayers)).toBe(2)
    expect(kinds(({ bidirectional }) => bidirectional)).toBe(2)
    expect(kinds(({ inputSize, numUnits }) => Math.sign(inputSize - numUnits))).toBe(3)
    expect(new Set(drawn.map(({ seriesList }) => seriesList[0].pass)).size).toBe(2)
  })

  it('times implementations that can run a network, ours first', () => {
    for (const { id, seriesList } of cases) {
      if (id.startsWith('reduced-')) continue
      const names = seriesList.map(({ implementation }) => implementation)
      const others = { training: ['pytorch'], streaming: ['onnxruntime'], inference: ['onnxruntime', 'pytorch'] }
      expect(names).toEqual(['cpu', ...others[seriesList[0].pass]])
    }
  })

  it('draws networks for every reduced precision, ours in float32 first', () => {
    const reduced = cases.filter(({ id }) => id.startsWith('reduced-'))
    expect(reduced).toHaveLength(10 * 3)
    for (const { seriesList } of reduced) {
      const [float32, ours, ...others] = seriesList
      expect([float32.implementation, float32.precision, ours.implementation]).toEqual(['cpu', 'float32', 'cpu'])
      for (const { implementation } of others) expect(implementation).toBe('pytorch')
      expect(new Set([ours, ...others].map(({ precision }) => precision)).size).toBe(1)
    }
  })

  it('has single steps on one thread beside those that carry a state', () => {
    const steps = cases.filter(({ id }) => id.startsWith('step/'))
    expect(steps.map(({ workload }) => workload.numUnits)).toEqual([64, 128, 256, 512, 64, 128, 256, 512])
    expect(new Set(steps.flatMap(({ seriesList }) => seriesList.map(({ threads }) => threads)))).toEqual(new Set([1]))
  })

  it('leaves out networks that no implementation can run', () => {
    const pytorch = BASELINES.filter(({ name }) => name === 'pytorch')
    const alone = benchCases({ ...selection, implementations: pytorch })
    expect(alone.some(({ id }) => id.startsWith('step/'))).toBe(false)
  })
})
