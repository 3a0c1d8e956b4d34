import { arch, cpus, platform, release, totalmem } from 'node:os'
import { visibleJson, visibleText, elementCount } from '@cudnn-rnn/canonical/rules'
import type { Command } from 'commander'
import { type BackendReport, CudnnLSTM, inspectBackends, openBackend } from '@cudnn-rnn/rnn'
import { type CudnnReport, inspectCudnn } from '@cudnn-rnn/rnn/executors'
import { colors } from '../colors.js'
import { EXIT_CODES } from '../exit_codes.js'

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('list the executors of this machine, the libraries searched, and remedies')
    .option('--json', 'print one JSON object')
    .action(async ({ json }: { json?: boolean }) => {
      const diagnosis = await diagnose()
      process.stdout.write(json ? `${visibleJson(diagnosis)}\n` : describe(diagnosis))
      if (!diagnosis.selfTest.passed) process.exitCode = EXIT_CODES.failed
    })
}

function describe({
  node,
  nodeApi,
  system,
  libc,
  processor,
  memoryGiB,
  backends,
  gpu,
  chosen,
  selfTest,
}: Diagnosis): string {
  const lines = [
    `${colors.bold('Node.js')}    ${node}, Node-API ${nodeApi}`,
    `${colors.bold('System')}     ${system}${libc === undefined ? '' : `, ${libc}`}`,
    `${colors.bold('Processor')}  ${processor}, ${memoryGiB} GiB of memory`,
    '',
    colors.bold('Executors, best first'),
  ]
  for (const { name, available, reason, advice } of backends) {
    lines.push(`  ${available ? colors.green('✓') : colors.yellow('–')} ${name.padEnd(10)} ${visibleText(reason)}`)
    if (advice !== '') lines.push(`    ${''.padEnd(10)} ${colors.dim(visibleText(advice))}`)
  }
  lines.push('', colors.bold('NVIDIA'), ...describeGpu(gpu))
  const error = selfTest.relativeError.toExponential(1)
  const verdict = selfTest.passed ? colors.green('passed') : colors.red('FAILED')
  lines.push(
    '',
    `${colors.bold('"auto" takes')} ${chosen.name}`,
    `${colors.bold('Self-test')}    ${verdict}: TensorFlow's CudnnLSTM test, relative error ${error}, ${selfTest.milliseconds} ms`,
    '',
  )
  return lines.join('\n')
}

/** The GPU, the libraries with their paths, and the enabled features. */
function describeGpu({ addon, device, cudnn, files, features }: Diagnosis['gpu']): string[] {
  const rows: (readonly [string, string])[] = [['addon', addon ?? 'not built']]
  if (device !== undefined) {
    const { name, computeCapability, driverVersion, totalBytes } = device
    const capability = (computeCapability / 10).toFixed(1)
    const driver = `${Math.floor(driverVersion / 1000)}.${Math.floor((driverVersion % 1000) / 10)}`
    const memory = `${Math.round(totalBytes / 2 ** 30)} GiB`
    rows.push(['GPU', `${name}, compute capability ${capability}, ${memory}, driver for CUDA ${driver}`])
    rows.push(['features', features.join(', ')])
  }
  for (const [library, file] of Object.entries(files)) {
    rows.push([library, library === 'cudnn' && cudnn !== undefined ? `${file} (${cudnn})` : file])
  }
  return rows.map(([what, text]) => `  ${what.padEnd(12)} ${visibleText(text)}`)
}

/** Result of `cudnn-rnn doctor`. */
interface Diagnosis {
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
  using backend = await openBackend('auto')
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
