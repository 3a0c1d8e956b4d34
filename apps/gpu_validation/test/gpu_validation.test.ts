import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAddon } from '@cudnn-rnn/cudnn/validation'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleGpuValidation } from '../../../scripts/testing/bundle_gpu_validation.mjs'
import { isRunning } from './is_running.js'

const loaded = loadAddon()
const emulator = openCudaEmulator()
const problem = loaded.addon === undefined ? 'the cuDNN addon is not built: npm run build:native' : emulator.problem
const TIMEOUT = { timeout: 120_000 }
/** A section that hangs is ended at its own limit, and reported. */
const LIMIT = '100'

/** Sections that the emulator supports. */
const SECTIONS =
  'layout,padding,gradients,limits,capture,algorithms,fallbacks,determinism,threads,host pointer,soak,several GPUs,own kernels'

describe.skipIf(problem !== undefined)(`the GPU validation (${problem ?? 'CUDA emulator'})`, () => {
  if (emulator.problem !== undefined) return
  const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-gpu-validation-'))
  /** An environment with the emulator only. */
  const environment = (settings = '') => ({
    TMPDIR: tmpdir(),
    CUDNN_RNN_CUDNN_ADDON: 'file' in loaded ? loaded.file : '',
    CUDNN_RNN_LIBRARY_DIR: emulator.folder,
    CUDNN_RNN_CACHE_DIR: join(folder, 'kernels'),
    CUDNN_RNN_CUDA_EMULATOR: '1',
    CUDNN_RNN_CUDA_EMULATOR_SETTINGS: settings,
  })
  const validate = (out: string, only: string, settings = '', python = 'none', jobs = '1') =>
    spawnSync(
      process.execPath,
      [
        join(folder, 'gpu_validation.mjs'),
        out,
        '--quick',
        '--python',
        python,
        '--limit',
        LIMIT,
        '--jobs',
        jobs,
        '--only',
        only,
      ],
      { encoding: 'utf8', env: environment(settings), timeout: TIMEOUT.timeout, killSignal: 'SIGKILL' },
    )
  const outcomes = (out: string, file = 'checklist'): Record<string, unknown>[] =>
    readFileSync(join(out, `${file}.jsonl`), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))

  beforeAll(() => bundleGpuValidation(folder))
  afterAll(() => rmSync(folder, { recursive: true }))

  it('answers every section over the emulator, and writes a report', TIMEOUT, () => {
    const out = join(folder, 'all')
    const { status, stdout, stderr } = validate(out, SECTIONS, 'devices=2')
    expect(status, stdout + stderr).toBe(0)
    const made = outcomes(out)
    expect(new Set(made.map(({ section }) => section))).toEqual(new Set(SECTIONS.split(',')))
    const compared = made.filter(({ id, verdict }) => id === '16.1' && verdict === 'pass')
    expect(compared.length, 'networks of own kernels').toBe(3)
    for (const outcome of made) {
      expect(Object.keys(outcome)).toEqual(expect.arrayContaining(['id', 'what', 'expected', 'verdict']))
      expect(outcome['verdict'], String(outcome['what'])).not.toBe('fail')
    }
    expect(readdirSync(out).filter((name) => name.endsWith('.md'))).toHaveLength(1)
  })

  it.each(['conformance', 'conformance tf32'])(
    'the bundle registers every test of the section %s',
    TIMEOUT,
    (section) => {
      const out = join(folder, section)
      mkdirSync(out)
      // No time for the tests: those behind the deadline are reported as skipped, each by its name.
      const args = [out, '--section', section, '--seconds', '0']
      const { stderr } = spawnSync(process.execPath, ['--expose-gc', join(folder, 'gpu_validation.mjs'), ...args], {
        ...{ encoding: 'utf8', env: environment() },
        ...{ timeout: TIMEOUT.timeout, killSignal: 'SIGKILL' },
      })
      const made = outcomes(out, 'conformance')
      expect(made.at(-1), stderr).toMatchObject({ verdict: 'skipped', measured: 'no time was left' })
      expect(made.filter(({ verdict }) => verdict === 'fail')).toEqual([])
      expect(made.length).toBeGreaterThan(100)
    },
  )

  it('all sections use one PyTorch, which ends with the run', TIMEOUT, async () => {
    const [python, log] = [join(folder, 'python'), join(folder, 'started')]
    writeFileSync(
      python,
      `#!${process.execPath}
const { appendFileSync } = require('node:fs')
const { createServer } = require('node:net')
const { createInterface } = require('node:readline')
const [program, option, path] = process.argv.slice(2)
if (program === '-c') process.exit(1)
appendFileSync(${JSON.stringify(log)}, option + ' ' + process.pid + '\\n')
const answerTo = ({ action }) => (action === 'hello' ? { torch: '2.13' } : { error: 'no device' })
createServer((client) => {
  client.on('error', () => {})
  createInterface(client).on('line', (line) => client.write(JSON.stringify(answerTo(JSON.parse(line))) + '\\n'))
}).listen(path)
`,
    )
    chmodSync(python, 0o755)
    const out = join(folder, 'torch')
    validate(out, 'parity,timing', '', python)
    const started = readFileSync(log, 'utf8').trim().split('\n')
    expect(started).toEqual([expect.stringMatching(/^--listen \d+$/)])
    const pid = Number(started[0].split(' ')[1])
    while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 20))
    const timed = readFileSync(join(out, 'timing.jsonl'), 'utf8')
    expect(timed).toContain('"torch":"2.13"')
    expect(outcomes(out).some(({ measured }) => measured === 'no device')).toBe(true)
  })

  it('runs sections side by side, and those that measure alone after them', TIMEOUT, () => {
    const out = join(folder, 'side_by_side')
    const { status, stdout, stderr } = validate(out, 'padding,soak,gradients,reserve twice', '', 'none', '3')
    expect(status, stdout + stderr).toBe(0)
    const steps = readFileSync(join(out, 'progress.jsonl'), 'utf8').trim().split('\n')
    const ended = steps.map((line) => JSON.parse(line)).flatMap(({ section, item }) => (item ? [] : [section]))
    expect(ended.slice(0, 3).sort()).toEqual(['gradients', 'padding', 'reserve twice'])
    expect(ended.slice(3)).toEqual(['soak'])
    expect(new Set(outcomes(out).map(({ section }) => section))).toEqual(new Set(ended))
  })

  it('continues after a section that loses the device, and reports it', TIMEOUT, () => {
    const out = join(folder, 'lost')
    const { status } = validate(out, 'gradients,reserve twice', 'sticky=10')
    expect(status).toBe(1)
    const made = outcomes(out)
    expect(new Set(made.map(({ section }) => section))).toEqual(new Set(['gradients', 'reserve twice']))
    expect(made.some(({ verdict }) => verdict === 'fail')).toBe(true)
  })
})
