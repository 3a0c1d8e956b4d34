import { describe, expect, it } from 'vitest'
import { bestBaseline, medianOf, ofSection, ratioToBestBaseline } from '../src/bench_report.js'
import { seriesName } from '../src/comparison.js'
import { instructionSetNote } from '../src/instruction_set_note.js'
import { compared, measured, sampleReport, series } from './sample_report.js'

const cell = compared(
  'table',
  {},
  [series('cpu'), measured(3)],
  [series('keras'), { status: 'failed', reason: 'out of memory' }],
  [series('pytorch'), measured(6)],
  [series('onnxruntime'), measured(2)],
  [series('tensorflow'), { status: 'differs', difference: 0.1 }],
)
const isBaseline = (name: string) => name !== 'cpu'

describe('medianOf', () => {
  it('is that of the first measured series that is accepted', () => {
    expect(medianOf(cell, () => true)).toBe(3)
    expect(medianOf(cell, ({ implementation }) => isBaseline(implementation))).toBe(6)
    expect(medianOf(cell, ({ implementation }) => implementation === 'onnxruntime')).toBe(2)
  })

  it('is undefined for series that failed, differ or are not there', () => {
    for (const name of ['keras', 'tensorflow', 'onednn']) {
      expect(medianOf(cell, ({ implementation }) => implementation === name)).toBeUndefined()
    }
  })
})

describe('bestBaseline and ratioToBestBaseline', () => {
  it('take the fastest baseline that was measured', () => {
    expect(bestBaseline(cell, isBaseline)).toEqual({ name: 'onnxruntime', ms: 2 })
    expect(ratioToBestBaseline(cell, 'cpu', isBaseline)).toBe(1.5)
  })

  it('take the first of two that are as fast', () => {
    const tie = compared('table', {}, [series('pytorch'), measured(2)], [series('keras'), measured(2)])
    expect(bestBaseline(tie, isBaseline)?.name).toBe('pytorch')
  })

  it('are undefined where one side is missing', () => {
    expect(ratioToBestBaseline(cell, 'wasm', isBaseline)).toBeUndefined()
    expect(ratioToBestBaseline(cell, 'cpu', () => false)).toBeUndefined()
    expect(bestBaseline(compared('table', {}), isBaseline)).toBeUndefined()
  })
})

it('ofSection keeps the order of the report', () => {
  const { comparisons } = sampleReport
  expect(ofSection(comparisons, 'table')).toEqual(comparisons.slice(0, 3))
  expect(ofSection(comparisons, 'step')).toEqual([])
})

describe('seriesName', () => {
  it.each([
    [series('cpu'), 'table', 'cpu'],
    [series('cpu', { threads: 1 }), 'threads', 'cpu, 1 thread'],
    [series('cpu', { threads: 2 }), 'threads', 'cpu, 2 threads'],
    [series('cpu', { weights: 'int8' }), 'weights', 'cpu, int8'],
    [series('cpu', { busy: true }), 'busy', 'cpu, busy machine'],
    [series('cpu', { pass: 'streaming' }), 'streaming', 'cpu, step by step'],
    [series('cpu', { threads: 1, weights: 'int8', busy: true }), 'threads', 'cpu, 1 thread, int8, busy machine'],
  ] as const)('has the traits in which series of a section differ: %j in %s', (of, section, name) => {
    expect(seriesName(of, section)).toBe(name)
  })
})

it('instructionSetNote names the set, and is empty without a limit', () => {
  const { settings } = sampleReport
  expect(instructionSetNote({ settings })).toEqual([])
  expect(instructionSetNote({ settings: { ...settings, instructionSet: 'avx2' } })).toEqual([
    'Held to the instruction set avx2, where an implementation can be.',
  ])
})
