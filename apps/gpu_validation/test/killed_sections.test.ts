import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadAddon } from '@cudnn-rnn/cudnn/validation'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleGpuValidation } from '../../../scripts/testing/bundle_gpu_validation.mjs'
import { isRunning } from './is_running.js'

const loaded = loadAddon()
const emulator = openCudaEmulator()
const problem = loaded.addon === undefined ? 'the cuDNN addon is not built: npm run build:native' : emulator.problem
const TIMEOUT = { timeout: 300_000 }
/** A seed from outside kills at other lines and in the middle of work, in more sections, over a slower device. */
const SEED = process.env['CUDNN_RNN_KILL_SEED']
/** A section that hangs is ended at its own limit; the slower device of a seed from outside has none. */
const LIMIT = SEED === undefined ? '100' : '0'
const PRELOAD = fileURLToPath(new URL('./kill_at_line.cjs', import.meta.url))
const LONG = ['capture', 'fallbacks', 'conformance tf32', 'timing']
/** A section of one item, and two of many. */
const SECTIONS = ['padding', 'algorithms', 'dynamic lstm', ...(SEED === undefined ? [] : LONG)]

describe.skipIf(problem !== undefined)(`sections that are killed (${problem ?? 'CUDA emulator'})`, () => {
  if (emulator.problem !== undefined) return
  const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-gpu-validation-'))
  const env = {
    PATH: process.env['PATH'] ?? '',
    TMPDIR: tmpdir(),
    CUDNN_RNN_CUDNN_ADDON: 'file' in loaded ? loaded.file : '',
    CUDNN_RNN_LIBRARY_DIR: emulator.folder,
    CUDNN_RNN_CACHE_DIR: join(folder, 'kernels'),
    CUDNN_RNN_CUDA_EMULATOR: '1',
    CUDNN_RNN_CUDA_EMULATOR_SETTINGS: SEED === undefined ? '' : 'slow=200',
  }
  const validate = (out: string, args: readonly string[], extra: Readonly<Record<string, string>> = {}) =>
    spawnSync(process.execPath, [join(folder, 'gpu_validation.mjs'), out, '--quick', '--python', 'none', ...args], {
      encoding: 'utf8',
      env: { ...env, ...extra },
    })
  /** Variables that kill_at_line.cjs reads. */
  const killing = (settings: Readonly<Record<string, string>>) => ({
    NODE_OPTIONS: `--require "${PRELOAD}"`,
    KILL_FOLDER: mkdtempSync(join(folder, 'kill-')),
    KILL_SEED: SEED ?? '1',
    ...settings,
  })
  const linesOf = (file: string) => readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const outcomes = (out: string) =>
    readdirSync(out)
      .filter((name) => name.endsWith('.jsonl') && name !== 'progress.jsonl')
      .flatMap((name) => linesOf(join(out, name)))
      .flatMap((line) => {
        try {
          return [JSON.parse(line) as Record<string, string>]
        } catch {
          // A line that the end of its process cut short; the following lines are complete.
          return []
        }
      })

  beforeAll(() => bundleGpuValidation(folder))
  afterAll(() => rmSync(folder, { recursive: true }))

  it('a killed run has all items, each once, and states where processes ended', TIMEOUT, () => {
    const [whole, killed] = [join(folder, 'whole'), join(folder, 'killed')]
    const args = ['--limit', LIMIT, '--jobs', '1', '--only', SECTIONS.join(',')]
    expect(validate(whole, args).status).toBe(0)
    validate(killed, args, killing(SEED === undefined ? {} : { KILL_IN_WORK: '1' }))
    const named = (made: readonly Record<string, string>[]) => made.map(({ section, what }) => `${section}: ${what}`)
    const [expected, made] = [outcomes(whole), outcomes(killed)]
    const isEnd = ({ what, measured }: Record<string, string>) =>
      /^the process, attempt/.test(what) || measured === 'the process ended in it'
    const ended = made.filter(isEnd)
    expect(ended.length).toBeGreaterThan(0)
    for (const outcome of ended) expect(outcome['verdict']).toBe('fail')
    for (const section of SECTIONS) {
      expect(made.some((outcome) => outcome['section'] === section)).toBe(true)
      const isGivenUp = made.some(({ section: of, verdict }) => of === section && verdict === 'skipped')
      const names = named(made.filter((outcome) => outcome['section'] === section))
      const isWhole = ended.every((outcome) => outcome['section'] !== section)
      if (isGivenUp || !isWhole) continue
      expect(names).toEqual(named(expected.filter((outcome) => outcome['section'] === section)))
    }
    // Nothing that passed when nothing was killed is claimed to have failed, but by the end of a process.
    const failures = made.filter((outcome) => outcome['verdict'] === 'fail' && !ended.includes(outcome))
    expect(failures).toEqual([])
    expect(readdirSync(killed).filter((name) => name.endsWith('.md'))).toHaveLength(1)
  })

  it.each([1, 9])(
    'a run that was killed at line %i resumes with --resume, and no item runs twice',
    TIMEOUT,
    async (line) => {
      const out = join(folder, `resumed_${line}`)
      const args = ['--limit', LIMIT, '--jobs', '1', '--only', 'padding,algorithms']
      const settings = killing({ KILL_RUN_AT: String(line) })
      expect(validate(out, args, settings).signal).toBe('SIGKILL')
      validate(out, [...args, '--resume'])
      const made = outcomes(out)
      // The section of the killed run still lives. It must write nothing into the results of the other.
      writeFileSync(join(settings.KILL_FOLDER, 'go_on'), '')
      const orphan = Number(readFileSync(join(settings.KILL_FOLDER, 'orphan'), 'utf8'))
      while (isRunning(orphan)) await new Promise((resolve) => setTimeout(resolve, 20))
      expect(outcomes(out)).toEqual(made)
      const keys = made.map(({ section, id, what }) => `${section}: ${id} ${what}`)
      expect(keys).toEqual([...new Set(keys)])
      expect(new Set(made.map(({ section }) => section))).toEqual(new Set(['padding', 'algorithms']))
      for (const { verdict, measured } of made) if (verdict === 'fail') expect(measured).toBe('the process ended in it')
    },
  )

  it('a run ends within its limit', TIMEOUT, () => {
    const out = join(folder, 'limited')
    // Less than a section needs at least, so that the result does not depend on the machine's speed.
    const { stdout } = validate(out, ['--limit', '2', '--only', 'capture,algorithms,conformance tf32'])
    expect(stdout).toContain('Report: ')
    expect(outcomes(out).some(({ measured }) => measured === 'no time was left')).toBe(true)
  })
})
