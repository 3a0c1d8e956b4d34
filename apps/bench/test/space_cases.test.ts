import { describe, expect, it } from 'vitest'
import { BASELINES, executorImplementation } from '../src/implementation_table.js'
import { spaceCases } from '../src/space_cases.js'

const implementations = [
  executorImplementation('cpu'),
  ...BASELINES.filter(({ name }) => ['onnxruntime', 'pytorch'].includes(name)),
]
const selection = { implementations, threads: [1, 2], seed: 1, drawn: 40, full: false }
const cases = spaceCases(selection)
const drawn = cases.filter(({ id }) => id.includes('/drawn-'))

describe('spaceCases', () => {
  it('has each size of the grid with each number of threads, each network once', () => {
    expect(cases.length - drawn.length).toBe(6 * 5 * 2)
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length)
    expect(spaceCases({ ...selection, full: true, drawn: 0 })).toHaveLength(4 * 2 * 6 * 5 * 2)
  })

  it('draws the same networks from a seed, and others from another', () => {
    expect(spaceCases(selection)).toEqual(cases)
    expect(spaceCases({ ...selection, seed: 2 }).filter(({ id }) => id.includes('/drawn-'))).not.toEqual(drawn)
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
    for (const { seriesList } of cases) {
      const names = seriesList.map(({ implementation }) => implementation)
      const isTraining = seriesList[0].pass === 'training'
      expect(names).toEqual(isTraining ? ['cpu', 'pytorch'] : ['cpu', 'onnxruntime', 'pytorch'])
    }
  })
})
