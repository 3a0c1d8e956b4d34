import { numDirections, numGates } from '@cudnn-rnn/canonical'
import { type MachineRates, readRate } from './machine_rates.js'
import { type Pass, type Workload, workloadDescriptor } from './workload.js'

/** The largest part of a bound. */
type BoundBy = 'arithmetic' | 'reading' | 'barrier'

/** Lower bound of a workload's time on a machine, for any schedule. */
export interface Roofline {
  /** Multiplications and additions of the products. */
  readonly operations: number
  /** Bytes of the matrices, once for each time that the recurrence has to read them. */
  readonly bytes: number
  readonly ms: number
  readonly boundBy: BoundBy
}

/** Products that need nothing of each other but their operands, `times` times one after the other. */
interface Phase {
  readonly operations: number
  readonly bytes: number
  readonly times: number
}

/**
 * The roofline of a workload: Σ over its phases of times · min over n ∈ {1, threads} of
 * max(operations / rate(n), bytes / reading(n, bytes)) + barrier(n). In a pass these are the input product, T steps of the
 * recurrence, and in training both backwards and the gradient of the weights; in single steps each step with both matrices,
 * on one thread. Activations, states and results are not counted, so no implementation reaches it.
 */
export function rooflineOf(workload: Workload, pass: Pass, threads: number, rates: MachineRates): Roofline {
  const phases = phasesOf(workload, pass)
  const total = { arithmetic: 0, reading: 0, barrier: 0 }
  let ms = 0
  for (const { operations, bytes, times } of phases) {
    const least = (threads === 1 ? ([0] as const) : ([0, 1] as const))
      .map((place) => {
        const arithmetic = (operations / rates.gflops[place]) * 1e-6
        const reading = (bytes / readRate(rates, bytes, place)) * 1e-6
        const barrier = place === 0 ? 0 : rates.barrierNs * 1e-6
        return { arithmetic, reading, barrier, ms: Math.max(arithmetic, reading) + barrier }
      })
      .reduce((best, each) => (each.ms < best.ms ? each : best))
    total[least.arithmetic >= least.reading ? 'arithmetic' : 'reading'] += times * (least.ms - least.barrier)
    total.barrier += times * least.barrier
    ms += times * least.ms
  }
  const sum = (of: (phase: Phase) => number) => phases.reduce((total, phase) => total + phase.times * of(phase), 0)
  const kinds = ['arithmetic', 'reading', 'barrier'] as const
  return {
    operations: sum(({ operations }) => operations),
    bytes: sum(({ bytes }) => bytes),
    ms,
    boundBy: kinds.reduce((most, kind) => (total[kind] > total[most] ? kind : most)),
  }
}

function phasesOf(workload: Workload, pass: Pass): readonly Phase[] {
  const descriptor = workloadDescriptor(workload)
  const directions = numDirections(descriptor)
  const { numLayers, batch, time, numUnits } = workload
  const outputs = numGates(descriptor) * numUnits
  const layers = Array.from({ length: numLayers }, (_, layer) => {
    const inputSize = layer === 0 ? workload.inputSize : directions * numUnits
    return { input: outputs * inputSize, recurrent: outputs * numUnits }
  })
  return layers.flatMap(({ input, recurrent }) => {
    // Both directions are independent of each other: a step of each at a time.
    const product = (elements: number, rows: number, times = 1): Phase => ({
      operations: 2 * rows * elements * directions,
      bytes: 4 * elements * directions,
      times,
    })
    if (pass === 'streaming') return [product(input + recurrent, batch, time)]
    const forward = [product(input, time * batch), product(recurrent, batch, time)]
    return pass === 'inference' ? forward : [...forward, ...forward, product(input + recurrent, time * batch)]
  })
}
