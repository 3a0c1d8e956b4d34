import { describe, expect, it } from 'vitest'
import { benchCases } from '../src/bench_cases.js'
import { executorContestant, PEERS } from '../src/contestant_table.js'

const executors = [executorContestant('cpu'), executorContestant('reference')]
const full = benchCases({ executors, peers: PEERS, threads: 2, quick: false })
const inSection = (wanted: string) => full.filter(({ section }) => section === wanted)
const contestants = (id: string) =>
  full.find((comparison) => comparison.id === id)?.lanes.map((lane) => lane.contestant)

describe('benchCases', () => {
  it('times six sizes of four cells in inference and training, and each again on a busy machine', () => {
    expect(inSection('table')).toHaveLength(6 * 4 * 2)
    expect(inSection('busy')).toHaveLength(6 * 4 * 2)
    expect(new Set(full.map(({ id }) => id)).size).toBe(full.length)
  })

  it('gives each contestant the cases that it supports', () => {
    expect(contestants('table/lstm/inference/1x70x512')).toEqual([
      'cpu',
      'reference',
      'onnxruntime',
      'onednn',
      'pytorch',
      'tensorflow',
      'keras',
      'tfjs-wasm',
      'tfjs-cpu',
    ])
    expect(contestants('table/gru/inference/1x70x512')).toEqual([
      'cpu',
      'reference',
      'onnxruntime',
      'onednn',
      'pytorch',
      'keras',
    ])
    expect(contestants('table/rnn_tanh/training/64x50x1024')).toEqual(['cpu', 'reference', 'pytorch'])
  })

  it('gives all lanes of the table the same number of threads', () => {
    const threads = inSection('table').flatMap(({ lanes }) => lanes.map((lane) => lane.threads))
    expect(new Set(threads)).toEqual(new Set([2]))
  })

  it('compares the best executor with itself: step by step, with smaller weights, on a busy machine', () => {
    const lanes = (section: string) => inSection(section)[0]?.lanes
    expect(lanes('streaming')?.map(({ contestant, pass }) => [contestant, pass])).toEqual([
      ['cpu', 'inference'],
      ['cpu', 'streaming'],
    ])
    expect(lanes('weights')?.map(({ weights }) => weights)).toEqual(['float32', 'bfloat16', 'int8'])
    expect(lanes('busy')?.map(({ busy }) => busy)).toEqual([false, true])
  })

  it('compares single steps on one thread with those that carry a state', () => {
    expect(inSection('step').map(({ workload }) => workload.numUnits)).toEqual([64, 128, 256, 512, 64, 128, 256, 512])
    expect(inSection('step')[0]?.lanes.map(({ contestant, pass, threads }) => [contestant, pass, threads])).toEqual([
      ['cpu', 'streaming', 1],
      ['onnxruntime', 'streaming', 1],
    ])
  })

  it('runs two bidirectional layers on one thread and on two, beside the peers that can', () => {
    const [threads] = inSection('threads')
    expect(threads?.workload).toMatchObject({ numLayers: 2, bidirectional: true, batch: 1 })
    expect(threads?.lanes.map((lane) => `${lane.contestant} ${lane.threads}`)).toEqual([
      'cpu 1',
      'cpu 2',
      'onnxruntime 1',
      'onnxruntime 2',
      'pytorch 1',
      'pytorch 2',
    ])
  })

  it('has half of the table when in a hurry', () => {
    const quick = benchCases({ executors, peers: PEERS, threads: 2, quick: true })
    expect(quick.filter(({ section }) => section === 'table')).toHaveLength(3 * 4 * 2)
  })

  it('keeps only comparisons with lanes', () => {
    const peersOnly = benchCases({ executors: [], peers: PEERS, threads: 2, quick: false })
    expect(new Set(peersOnly.map(({ section }) => section))).toEqual(new Set(['table', 'step', 'threads']))
  })
})
