import { describe, expect, it } from 'vitest'
import { bestPeer, medianOf, ofSection, ratioToBestPeer } from '../src/bench_report.js'
import { laneName } from '../src/comparison.js'
import { instructionSetNote } from '../src/instruction_set_note.js'
import { compared, lane, measured, sampleReport } from './sample_report.js'

const cell = compared(
  'table',
  {},
  [lane('cpu'), measured(3)],
  [lane('keras'), { status: 'failed', reason: 'out of memory' }],
  [lane('pytorch'), measured(6)],
  [lane('onnxruntime'), measured(2)],
  [lane('tensorflow'), { status: 'differs', difference: 0.1 }],
)
const isPeer = (name: string) => name !== 'cpu'

describe('medianOf', () => {
  it('is that of the first measured lane that is accepted', () => {
    expect(medianOf(cell, () => true)).toBe(3)
    expect(medianOf(cell, ({ implementation }) => isPeer(implementation))).toBe(6)
    expect(medianOf(cell, ({ implementation }) => implementation === 'onnxruntime')).toBe(2)
  })

  it('is undefined for lanes that failed, differ or are not there', () => {
    for (const name of ['keras', 'tensorflow', 'onednn']) {
      expect(medianOf(cell, ({ implementation }) => implementation === name)).toBeUndefined()
    }
  })
})

describe('bestPeer and ratioToBestPeer', () => {
  it('take the fastest peer that was measured', () => {
    expect(bestPeer(cell, isPeer)).toEqual({ name: 'onnxruntime', ms: 2 })
    expect(ratioToBestPeer(cell, 'cpu', isPeer)).toBe(1.5)
  })

  it('take the first of two that are as fast', () => {
    const tie = compared('table', {}, [lane('pytorch'), measured(2)], [lane('keras'), measured(2)])
    expect(bestPeer(tie, isPeer)?.name).toBe('pytorch')
  })

  it('are undefined where one side is missing', () => {
    expect(ratioToBestPeer(cell, 'wasm', isPeer)).toBeUndefined()
    expect(ratioToBestPeer(cell, 'cpu', () => false)).toBeUndefined()
    expect(bestPeer(compared('table', {}), isPeer)).toBeUndefined()
  })
})

it('ofSection keeps the order of the report', () => {
  const { comparisons } = sampleReport
  expect(ofSection(comparisons, 'table')).toEqual(comparisons.slice(0, 3))
  expect(ofSection(comparisons, 'step')).toEqual([])
})

describe('laneName', () => {
  it.each([
    [lane('cpu'), 'table', 'cpu'],
    [lane('cpu', { threads: 1 }), 'threads', 'cpu, 1 thread'],
    [lane('cpu', { threads: 2 }), 'threads', 'cpu, 2 threads'],
    [lane('cpu', { weights: 'int8' }), 'weights', 'cpu, int8'],
    [lane('cpu', { busy: true }), 'busy', 'cpu, busy machine'],
    [lane('cpu', { pass: 'streaming' }), 'streaming', 'cpu, step by step'],
    [lane('cpu', { threads: 1, weights: 'int8', busy: true }), 'threads', 'cpu, 1 thread, int8, busy machine'],
  ] as const)('has the traits in which lanes of a section differ: %j in %s', (of, section, name) => {
    expect(laneName(of, section)).toBe(name)
  })
})

it('instructionSetNote names the set, and is empty without a limit', () => {
  const { settings } = sampleReport
  expect(instructionSetNote({ settings })).toEqual([])
  expect(instructionSetNote({ settings: { ...settings, instructionSet: 'avx2' } })).toEqual([
    'Held to the instruction set avx2, where an implementation can be.',
  ])
})
