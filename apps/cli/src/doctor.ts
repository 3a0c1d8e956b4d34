import { arch, cpus, platform, release, totalmem } from 'node:os'
import { elementCount } from '@cudnn-rnn/canonical/rules'
import { type BackendReport, CudnnLSTM, inspectBackends, openBackend } from '@cudnn-rnn/rnn'
import { type CudnnReport, inspectCudnn } from '@cudnn-rnn/rnn/executors'

/** Result of `cudnn-rnn doctor`. */
export interface Diagnosis {
  readonly node: string
  readonly nodeApi: string
  readonly system: string
  /** "glibc 2.36", "musl", or undefined outside Linux. */
  readonly libc: string | undefined
  readonly processor: string
  readonly memoryGiB: number
  readonly backends: readonly BackendReport[]
  /** NVIDIA's libraries and the GPU: paths of the found ones, and missing ones. */
  readonly gpu: CudnnReport
  /** The executor that "auto" takes, with its reason. */
  readonly chosen: { readonly name: string; readonly reason: string }
  readonly selfTest: { readonly passed: boolean; readonly relativeError: number; readonly milliseconds: number }
}

/**
 * TensorFlow's own test of CudnnLSTM (`testSimpleInference` of cudnn_rnn_ops_test.py, releases 0.11 to 1.12): 4 layers
 * of 200 units, every parameter, input and state 1; the sum of all results.
 */
const GOLDEN = { numLayers: 4, numUnits: 200, batch: 20, time: 10, sum: 231833.22 }
const GOLDEN_TOLERANCE = 1e-5

export async function diagnose(): Promise<Diagnosis> {
  const backend = await openBackend('auto')
  try {
    return {
      node: process.version,
      nodeApi: process.versions['napi'] ?? 'none',
      system: `${platform()} ${release()} ${arch()}`,
      libc: libc(),
      processor: `${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} threads`,
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      backends: await inspectBackends(),
      gpu: await inspectCudnn(),
      chosen: { name: backend.name, reason: backend.reason },
      selfTest: await selfTest(backend),
    }
  } finally {
    backend.dispose()
  }
}

async function selfTest(backend: Awaited<ReturnType<typeof openBackend>>): Promise<Diagnosis['selfTest']> {
  const { numLayers, numUnits, batch, time } = GOLDEN
  const ones = (...shape: number[]) => {
    const size = elementCount(shape)
    return { data: new Float32Array(size).fill(1), shape }
  }
  using lstm = new CudnnLSTM(backend, { numLayers, numUnits, inputSize: numUnits, inputMode: 'linear_input' })
  using params = lstm.createParams({ kernelInitializer: 1, biasInitializer: 1 })
  const state = ones(numLayers, batch, numUnits)
  const began = performance.now()
  const options = { isTraining: false } as const
  const result = await lstm.call(ones(time, batch, numUnits), state, state, params, options)
  let sum = 0
  for (const tensor of [result.output, result.outputH, result.outputC]) {
    for (const value of (await tensor.read()).data) sum += value
    tensor.dispose()
  }
  const relativeError = Math.abs(sum - GOLDEN.sum) / GOLDEN.sum
  const milliseconds = Math.round(performance.now() - began)
  return { passed: relativeError < GOLDEN_TOLERANCE, relativeError, milliseconds }
}

function libc(): string | undefined {
  if (platform() !== 'linux') return undefined
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  const version = report.header?.glibcVersionRuntime
  return version === undefined ? 'musl' : `glibc ${version}`
}
