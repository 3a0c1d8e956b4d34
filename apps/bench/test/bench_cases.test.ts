import { describe, expect, it } from 'vitest'
import { benchCases } from '../src/bench_cases.js'
import { BASELINES, executorImplementation } from '../src/implementation_table.js'

const executors = [executorImplementation('cpu'), executorImplementation('reference')]
const full = benchCases({ executors, baselines: BASELINES, threads: 2, quick: false })
const inSection = (wanted: string) => full.filter(({ section }) => section === wanted)
const implementations = (id: string) =>
  full.find((comparison) => comparison.id === id)?.seriesList.map((series) => series.implementation)

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

  it('gives all series of the table the same number of threads', () => {
    const threads = inSection('table').flatMap(({ seriesList }) => seriesList.map((series) => series.threads))
    expect(new Set(threads)).toEqual(new Set([2]))
  })

  it('compares the best executor with itself: step by step, with smaller weights, on a busy machine', () => {
    const seriesList = (section: string) => inSection(section)[0]?.seriesList
    expect(seriesList('streaming')?.map(({ implementation, pass }) => [implementation, pass])).toEqual([
      ['cpu', 'inference'],
      ['cpu', 'streaming'],
    ])
    expect(seriesList('weights')?.map(({ weights }) => weights)).toEqual(['float32', 'bfloat16', 'int8'])
    expect(seriesList('busy')?.map(({ busy }) => busy)).toEqual([false, true])
  })

  it('compares single steps on one thread with those that carry a state', () => {
    expect(inSection('step').map(({ workload }) => workload.numUnits)).toEqual([64, 128, 256, 512, 64, 128, 256, 512])
    expect(
      inSection('step')[0]?.seriesList.map(({ implementation, pass, threads }) => [implementation, pass, threads]),
    ).toEqual([
      ['cpu', 'streaming', 1],
      ['onnxruntime', 'streaming', 1],
    ])
  })

  it('runs two bidirectional layers on one thread and on two, beside the baselines that can', () => {
    const [threads] = inSection('threads')
    expect(threads?.workload).toMatchObject({ numLayers: 2, bidirectional: true, batch: 1 })
    expect(threads?.seriesList.map((series) => `${series.implementation} ${series.threads}`)).toEqual([
      'cpu 1',
      'cpu 2',
      'onnxruntime 1',
      'onnxruntime 2',
      'pytorch 1',
      'pytorch 2',
    ])
  })

  it('has half of the table when in a hurry', () => {
    const quick = benchCases({ executors, baselines: BASELINES, threads: 2, quick: true })
    expect(quick.filter(({ section }) => section === 'table')).toHaveLength(3 * 4 * 2)
  })

  it('keeps only comparisons with series', () => {
    const baselinesOnly = benchCases({ executors: [], baselines: BASELINES, threads: 2, quick: false })
    expect(new Set(baselinesOnly.map(({ section }) => section))).toEqual(new Set(['table', 'step', 'threads']))
  })
})
