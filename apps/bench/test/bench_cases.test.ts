import { describe, expect, it } from 'vitest'
import { benchCases } from '../src/bench_cases.js'
import { executorImplementation, PEERS } from '../src/implementation_table.js'

const executors = [executorImplementation('cpu'), executorImplementation('reference')]
const full = benchCases({ executors, peers: PEERS, threads: 2, quick: false })
const inSection = (wanted: string) => full.filter(({ section }) => section === wanted)
const implementations = (id: string) =>
  full.find((comparison) => comparison.id === id)?.lanes.map((lane) => lane.implementation)

describe('benchCases', () => {
  it('times six sizes of four cells in inference and training, and each again on a busy machine', () => {
    expect(inSection('table')).toHaveLength(6 * 4 * 2)
    expect(inSection('busy')).toHaveLength(6 * 4 * 2)
    expect(new Set(full.map(({ id }) => id)).size).toBe(full.length)
  })

  it('gives each implementation the cases that it supports', () => {
    expect(implementations('table/lstm/inference/1x70x512')).toEqual([
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
    expect(implementations('table/gru/inference/1x70x512')).toEqual([
      'cpu',
      'reference',
      'onnxruntime',
      'onednn',
      'pytorch',
      'keras',
    ])
    expect(implementations('table/rnn_tanh/training/64x50x1024')).toEqual(['cpu', 'reference', 'pytorch'])
  })

  it('gives all lanes of the table the same number of threads', () => {
    const threads = inSection('table').flatMap(({ lanes }) => lanes.map((lane) => lane.threads))
    expect(new Set(threads)).toEqual(new Set([2]))
  })

  it('compares the best executor with itself: step by step, with smaller weights, on a busy machine', () => {
    const lanes = (section: string) => inSection(section)[0]?.lanes
    expect(lanes('streaming')?.map(({ implementation, pass }) => [implementation, pass])).toEqual([
      ['cpu', 'inference'],
      ['cpu', 'streaming'],
    ])
    expect(lanes('weights')?.map(({ weights }) => weights)).toEqual(['float32', 'bfloat16', 'int8'])
    expect(lanes('busy')?.map(({ busy }) => busy)).toEqual([false, true])
  })

  it('compares single steps on one thread with those that carry a state', () => {
    expect(inSection('step').map(({ workload }) => workload.numUnits)).toEqual([64, 128, 256, 512, 64, 128, 256, 512])
    expect(
      inSection('step')[0]?.lanes.map(({ implementation, pass, threads }) => [implementation, pass, threads]),
    ).toEqual([
      ['cpu', 'streaming', 1],
      ['onnxruntime', 'streaming', 1],
    ])
  })

  it('runs two bidirectional layers on one thread and on two, beside the peers that can', () => {
    const [threads] = inSection('threads')
    expect(threads?.workload).toMatchObject({ numLayers: 2, bidirectional: true, batch: 1 })
    expect(threads?.lanes.map((lane) => `${lane.implementation} ${lane.threads}`)).toEqual([
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
