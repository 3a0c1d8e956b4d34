import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { trainingForward } from '@cudnn-rnn/conformance'
import { type CudnnBackend, type CudnnBackendOptions, openCudnnBackend, type Precision } from '@cudnn-rnn/cudnn'
import { median } from './median.js'

/** One cell of the table of times: T is 70 throughout, I = H. */
export interface TimingCase {
  readonly cellMode: 'lstm' | 'gru'
  readonly layers: number
  readonly units: number
  readonly batch: number
  readonly precision: Precision
}

export interface PassTimes {
  readonly forwardMs: number
  readonly trainingMs: number
}

/** The cells that are compared with PyTorch on the same GPU; the most informative first. */
export function timingCases(isQuick: boolean): TimingCase[] {
  const units = isQuick ? [16] : [512, 1024, 128, 2048]
  const batches = isQuick ? [1, 2] : [1, 64, 16, 256]
  const precisions: readonly Precision[] = isQuick ? ['float32'] : ['float32', 'bfloat16', 'tf32']
  const cases: TimingCase[] = []
  for (const layers of [1, 2]) {
    for (const precision of precisions) {
      for (const size of units) {
        for (const batch of batches) {
          for (const cellMode of ['lstm', 'gru'] as const)
            cases.push({ cellMode, layers, units: size, batch, precision })
        }
      }
    }
  }
  return cases
}

export function timeSteps(isQuick: boolean): number {
  return isQuick ? 5 : 70
}

/** Times passes of the executor; keeps one executor open per precision. */
export class PassTimer {
  readonly #options: CudnnBackendOptions
  readonly #backends = new Map<Precision, CudnnBackend>()

  constructor(options: CudnnBackendOptions) {
    this.#options = options
  }

  async backend(precision: Precision): Promise<CudnnBackend> {
    let backend = this.#backends.get(precision)
    if (backend === undefined) {
      backend = await openCudnnBackend({ ...this.#options, precision })
      this.#backends.set(precision, backend)
    }
    return backend
  }

  /** Milliseconds of a forward, and of a forward with both gradients; each measured for about `seconds`. */
  async time({ cellMode, layers, units, batch, precision }: TimingCase, time: number, seconds: number) {
    const backend = await this.backend(precision)
    const shape = { numLayers: layers, numUnits: units, inputSize: units, inputMode: 'linear_input' } as const
    const rnn = backend.rnn(createRnnDescriptor({ cellMode, ...shape }))
    const params = backend.tensor({ data: new Float32Array(rnn.paramsSize).fill(0.01), shape: [rnn.paramsSize] })
    const input = backend.tensor({
      data: new Float32Array(time * batch * units).fill(0.5),
      shape: [time, batch, units],
    })
    const inputs = { input, inputH: null, inputC: null, params, sequenceLengths: null }
    const inference = async () => {
      for (const tensor of Object.values(await rnn.forward({ ...inputs, training: false }))) tensor?.dispose()
    }
    const pass = async () => {
      const result = await trainingForward(rnn, inputs)
      const gradients = await rnn.backward(result.tape, { output: result.output })
      for (const tensor of [...Object.values(result), ...Object.values(gradients)]) tensor?.dispose()
    }
    try {
      return {
        forwardMs: await timed(backend, inference, seconds),
        // One step, since PyTorch's forward and backward are one graph.
        trainingMs: await timed(backend, () => backend.steps.run(pass), seconds),
      } satisfies PassTimes
    } finally {
      for (const one of [params, input, rnn]) one.dispose()
    }
  }

  /** Gives memory kept for reuse back to the device, before another process is timed on it. */
  async trimMemory(): Promise<void> {
    for (const backend of this.#backends.values()) await backend.trimMemory()
  }

  async close(): Promise<void> {
    for (const backend of this.#backends.values()) await backend.close()
  }
}

/** Milliseconds: the median of five rounds that fill `seconds`, each ended by waiting for the device. */
export async function timed(backend: CudnnBackend, run: () => Promise<void>, seconds: number): Promise<number> {
  // A scalar that is computed after everything queued before.
  const finish = async () => {
    using scalar = backend.zeros([])
    await scalar.read()
  }
  for (let n = 0; n < 5; n++) await run()
  await finish()
  const began = performance.now()
  await run()
  await finish()
  const runs = Math.max(1, Math.min(1000, Math.round((seconds * 200) / (performance.now() - began))))
  const rounds: number[] = []
  for (let round = 0; round < 5; round++) {
    const start = performance.now()
    for (let n = 0; n < runs; n++) await run()
    await finish()
    rounds.push((performance.now() - start) / runs)
  }
  return median(rounds)
}
