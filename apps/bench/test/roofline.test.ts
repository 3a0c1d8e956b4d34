import { describe, expect, it } from 'vitest'
import type { MachineRates } from '../src/machine_rates.js'
import { rooflineOf } from '../src/roofline.js'
import type { Workload } from '../src/workload.js'

const rates: MachineRates = {
  threads: 2,
  gflops: [100, 200],
  reads: [
    { bytes: 2 ** 16, gigabytes: [100, 200] },
    { bytes: 2 ** 22, gigabytes: [50, 100] },
    { bytes: 2 ** 26, gigabytes: [20, 25] },
  ],
  barrierNs: 100,
}

const lstm = (batch: number, numUnits: number): Workload => ({
  cellMode: 'lstm',
  numLayers: 1,
  bidirectional: false,
  batch,
  time: 70,
  inputSize: numUnits,
  numUnits,
})

describe('rooflineOf', () => {
  it('reads the recurrent matrix at every step and the input matrix once', () => {
    const matrix = 4 * 512 * 512
    const { operations, bytes, ms, boundBy } = rooflineOf(lstm(1, 512), 'inference', 2, rates)
    expect(operations).toBe(2 * 70 * 2 * matrix)
    expect(bytes).toBe(71 * 4 * matrix)
    expect(boundBy).toBe('reading')
    // 147 Mflop at 200 GFLOP/s, a barrier, and 70 times 4 MiB at 100 GB/s and a barrier.
    const input = (2 * 70 * matrix) / 200e6 + 100e-6
    expect(ms).toBeCloseTo(input + 70 * ((4 * matrix) / 100e6 + 100e-6), 9)
  })

  it('is bound by arithmetic where rows are many', () => {
    const { operations, ms, boundBy } = rooflineOf(lstm(64, 512), 'inference', 2, rates)
    expect(boundBy).toBe('arithmetic')
    expect(ms).toBeCloseTo(operations / 200e6 + 71 * 100e-6, 9)
  })

  it('takes one thread where a barrier costs more than it saves', () => {
    const slow = { ...rates, barrierNs: 1e6 }
    expect(rooflineOf(lstm(1, 64), 'inference', 2, slow).ms).toBe(rooflineOf(lstm(1, 64), 'inference', 1, slow).ms)
  })

  it('triples the arithmetic in training and reads R backwards again', () => {
    const inference = rooflineOf(lstm(16, 512), 'inference', 2, rates)
    const training = rooflineOf(lstm(16, 512), 'training', 2, rates)
    expect(training.operations).toBe(3 * inference.operations)
    expect(training.bytes).toBe(2 * inference.bytes + 2 * 4 * 4 * 512 * 512)
  })

  it('reads both matrices in every single step, on one thread', () => {
    const { bytes, ms } = rooflineOf(lstm(1, 64), 'streaming', 1, rates)
    expect(bytes).toBe(70 * 4 * 2 * 4 * 64 * 64)
    expect(ms).toBeCloseTo(bytes / 100e6, 9)
  })

  it('steps in both directions at a time, and feeds both to the next layer', () => {
    const [batch, units, time] = [16, 64, 70]
    const stack = { ...lstm(batch, units), numLayers: 2, bidirectional: true }
    const { operations, bytes } = rooflineOf(stack, 'inference', 2, rates)
    // Elements of the input matrices of both layers and of their recurrent ones, of both directions.
    const [input, recurrent] = [2 * (4 * units * units) + 2 * (4 * units * 2 * units), 4 * (4 * units * units)]
    expect(operations).toBe(2 * batch * time * (input + recurrent))
    expect(bytes).toBe(4 * (input + time * recurrent))
  })

  it.each([
    ['lstm', 4],
    ['gru', 3],
    ['rnn_tanh', 1],
  ] as const)('counts the gates of %s', (cellMode, gates) => {
    const { operations } = rooflineOf({ ...lstm(1, 64), cellMode }, 'inference', 1, rates)
    expect(operations).toBe(2 * 70 * gates * 2 * 64 * 64)
  })

  it('is bound by the barriers where steps are short', () => {
    const fast = { ...rates, gflops: [1, 1e6] as const, reads: [{ bytes: 1, gigabytes: [1, 1e6] as const }] }
    const { boundBy, ms } = rooflineOf(lstm(1, 64), 'inference', 2, fast)
    expect(boundBy).toBe('barrier')
    expect(ms).toBeGreaterThan(71 * 100e-6)
  })

  it('is never longer with a second thread, and shorter with faster reads', () => {
    for (const pass of ['inference', 'training', 'streaming'] as const) {
      for (const batch of [1, 64]) {
        const work = lstm(batch, 512)
        const one = rooflineOf(work, pass, 1, rates).ms
        expect(rooflineOf(work, pass, 2, rates).ms).toBeLessThanOrEqual(one)
        const faster = { ...rates, reads: rates.reads.map((read) => ({ ...read, gigabytes: [1e3, 1e3] as const })) }
        expect(rooflineOf(work, pass, 1, faster).ms).toBeLessThanOrEqual(one)
      }
    }
  })

  it('takes as many operations for steps as for a pass, and reads more', () => {
    const [pass, steps] = (['inference', 'streaming'] as const).map((kind) => rooflineOf(lstm(4, 128), kind, 1, rates))
    expect(steps?.operations).toBe(pass?.operations)
    expect(steps?.bytes).toBe(70 * 2 * 4 * 4 * 128 * 128)
  })
})
