// The proof on a real GPU: conformance, the checklist, and times beside PyTorch's. Run by `npm run test:gpu`, and by
// run.sh of the folder that `npm run pack:gpu` makes.
//
//     node gpu_proof.mjs OUTDIR [--quick] [--python PYTHON]
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { runConformance, runNvidiaSample } from '@cudnn-rnn/testing'
import { inspectCudnn, openCudnnBackend } from '../src/index.js'
import { runChecklist } from './checklist.js'
import { runTests } from './test_runner.js'
import { TIME_STEPS, timeCase, timingCases } from './timing.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false }, python: { type: 'string' } },
})
const folder = positionals[0] ?? '.gpu'
mkdirSync(folder, { recursive: true })
const options = {}

/** Appends to FOLDER/name.jsonl. */
const reporter = (name: string) => {
  const file = join(folder, `${name}.jsonl`)
  writeFileSync(file, '')
  return (line: object) => appendFileSync(file, `${JSON.stringify(line)}\n`)
}

const report = await inspectCudnn(options)
writeFileSync(join(folder, 'machine.json'), JSON.stringify({ node: process.version, ...report }, null, 2))
if (report.device === undefined) {
  console.error(`No GPU can be used here. ${report.advice}`)
  for (const { name, reason } of report.attempts) console.error(`  ${name}: ${reason}`)
  process.exit(1)
}
console.log(`${report.device.name}, cuDNN ${report.cudnn}`)

// Single precision rounds otherwise on a GPU; half precision has eight or eleven bits.
runConformance('cudnn', ({ dtype }) => openCudnnBackend({ ...options, dtype }), {
  dtypes: ['float32', 'float64'],
  tolerances: { float32: 1e-5, float64: 1e-11 },
})
if (!values.quick) runNvidiaSample('cudnn', ({ dtype }) => openCudnnBackend({ ...options, dtype }))
const { passed, failed } = await runTests(reporter('conformance'))
console.log(`Conformance: ${passed} passed, ${failed} failed`)

await runChecklist(options, values.quick, reporter('checklist'))
console.log('Checklist: written')

const time = reporter('timing')
for (const timing of timingCases(values.quick)) {
  const ours = await timeCase(timing, options, values.quick ? 0.05 : 1).catch((error: unknown) => ({
    error: String(error),
  }))
  time({ who: 'cudnn-rnn', time: TIME_STEPS, ...timing, ...ours })
}
console.log('Timing: written')
if (values.python !== undefined) {
  const script = fileURLToPath(new URL('./torch_timing.py', import.meta.url))
  const { status, stdout, stderr } = spawnSync(values.python, [script, ...(values.quick ? ['--quick'] : [])], {
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  })
  if (status !== 0) console.error(`PyTorch: ${stderr}`)
  for (const line of stdout.split('\n').filter(Boolean)) time(JSON.parse(line) as object)
  console.log('PyTorch: written')
}
process.exitCode = failed === 0 ? 0 : 1
