import { visibleJson, visibleText } from '@cudnn-rnn/canonical/rules'
import type { Command } from 'commander'
import { colors } from '../colors.js'
import { type Diagnosis, diagnose } from '../doctor.js'
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
