import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { type CudnnBackendOptions, openCudnnBackend, type Precision } from '../src/index.js'

/** One cell of the table of times: T is 70 throughout. */
export interface TimingCase {
  readonly cellMode: 'lstm' | 'gru'
  readonly layers: number
  readonly units: number
  readonly batch: number
  readonly precision: Precision
}

export const TIME_STEPS = 70

/** The cells that are compared with PyTorch on the same GPU. */
export function timingCases(isQuick: boolean): TimingCase[] {
  const units = isQuick ? [32] : [128, 512, 1024, 2048]
  const batches = isQuick ? [1, 4] : [1, 16, 64, 256]
  const precisions: readonly Precision[] = isQuick ? ['float32'] : ['float32', 'tf32', 'bfloat16']
  const cases: TimingCase[] = []
  for (const cellMode of ['lstm', 'gru'] as const) {
    for (const layers of [1, 2]) {
      for (const size of units) {
        for (const batch of batches) {
          for (const precision of precisions) cases.push({ cellMode, layers, units: size, batch, precision })
        }
      }
    }
  }
  return cases
}

/** Milliseconds of a pass, and microseconds that the JavaScript thread was busy with one call. */
export async function timeCase(
  { cellMode, layers, units, batch, precision }: TimingCase,
  options: CudnnBackendOptions,
  seconds: number,
): Promise<{ forwardMs: number; trainingMs: number; callMicroseconds: number }> {
  using backend = await openCudnnBackend({ ...options, precision })
  const descriptor = createRnnDescriptor({
    cellMode,
    numLayers: layers,
    numUnits: units,
    inputSize: units,
    inputMode: 'linear_input',
  })
  const rnn = backend.rnn(descriptor)
  const params = backend.tensor({ data: new Float32Array(rnn.paramsSize).fill(0.01), shape: [rnn.paramsSize] })
  const input = backend.tensor({
    data: new Float32Array(TIME_STEPS * batch * units).fill(0.5),
    shape: [TIME_STEPS, batch, units],
  })
  const inputs = { input, inputH: null, inputC: null, params, sequenceLengths: null }
  let busy = 0
  let calls = 0
  const forward = async (training: boolean) => {
    const began = performance.now()
    const queued = rnn.forward({ ...inputs, training })
    busy += performance.now() - began
    calls++
    return queued
  }
  const inference = async () => {
    for (const tensor of Object.values(await forward(false))) tensor?.dispose()
  }
  const trainingStep = async () => {
    const result = await forward(true)
    const gradients = await rnn.backward(result.tape!, { output: result.output })
    for (const tensor of [...Object.values(result), ...Object.values(gradients)]) tensor?.dispose()
  }
  const finish = () => backend.ops.globalNorm([params]).read()
  const forwardMs = await timed(inference, finish, seconds)
  busy = 0
  calls = 0
  await timed(inference, finish, seconds / 4)
  const callMicroseconds = (busy / calls) * 1000
  return { forwardMs, trainingMs: await timed(trainingStep, finish, seconds), callMicroseconds }
}

/** The median of five rounds of as many runs as fill a fifth of `seconds`, each round ended by waiting for the device. */
async function timed(run: () => Promise<void>, finish: () => Promise<unknown>, seconds: number): Promise<number> {
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
  return rounds.sort((a, b) => a - b)[2]!
}
