import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadAddon } from '@cudnn-rnn/cudnn/validation'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleGpuValidation } from '../../../scripts/bundle_gpu_validation.mjs'

const loaded = loadAddon()
const emulator = openCudaEmulator()
const problem = loaded.addon === undefined ? 'the cuDNN addon is not built: npm run build:native' : emulator.problem
const TIMEOUT = { timeout: 300_000 }
/** Another seed kills at other moments, in more sections, over a slower device. */
const SEED = process.env['CUDNN_RNN_KILL_SEED']
const LONG = ['capture', 'fallbacks', 'conformance tf32', 'timing']
/** A section of one item, and two of many. */
const SECTIONS = ['padding', 'algorithms', 'dynamic lstm', ...(SEED === undefined ? [] : LONG)]

describe.skipIf(problem !== undefined)(`sections that are killed (${problem ?? 'CUDA emulator'})`, () => {
  if (emulator.problem !== undefined) return
  const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-gpu-validation-'))
  const node = join(folder, 'mortal_node')
  const env = {
    PATH: process.env['PATH'] ?? '',
    CUDNN_RNN_CUDNN_ADDON: 'file' in loaded ? loaded.file : '',
    CUDNN_RNN_LIBRARY_DIR: emulator.folder,
    CUDNN_RNN_CACHE_DIR: join(folder, 'kernels'),
    CUDNN_RNN_CUDA_EMULATOR: '1',
    CUDNN_RNN_CUDA_EMULATOR_SETTINGS: SEED === undefined ? '' : 'slow=200',
  }
  const validate = (out: string, ...args: readonly string[]) =>
    spawnSync(process.execPath, [join(folder, 'gpu_validation.mjs'), out, '--quick', '--python', 'none', ...args], {
      encoding: 'utf8',
      env,
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
          // A line that the end of its process cut short; whatever follows it is whole.
          return []
        }
      })

  beforeAll(async () => {
    await bundleGpuValidation(folder)
    // Node.js that is killed after 0.3 to 0.9 seconds, one time in two.
    writeFileSync(
      node,
      `#!/bin/bash
count=$(cat "${folder}/count" 2>/dev/null || echo 0)
echo $((count + 1)) > "${folder}/count"
RANDOM=$(( ${SEED ?? 1} * 7919 + count * 104729 ))
: $RANDOM
if [ $((RANDOM % 2)) = 0 ]; then exec "${process.execPath}" "$@"; fi
exec timeout -s KILL 0.$((RANDOM % 7 + 3)) "${process.execPath}" "$@"
`,
    )
    chmodSync(node, 0o755)
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  it('a killed run has all items, each once, and says where processes ended', TIMEOUT, () => {
    const [whole, killed] = [join(folder, 'whole'), join(folder, 'killed')]
    expect(validate(whole, '--limit', '0', '--only', SECTIONS.join(',')).status).toBe(0)
    validate(killed, '--limit', '0', '--only', SECTIONS.join(','), '--node', node)
    const named = (made: readonly Record<string, string>[]) => made.map(({ section, what }) => `${section}: ${what}`)
    const [expected, made] = [outcomes(whole), outcomes(killed)]
    const isEnd = ({ what, measured }: Record<string, string>) =>
      /^the process, attempt/.test(what!) || measured === 'the process ended in it'
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

  it('a run that was killed itself goes on with --resume', TIMEOUT, () => {
    const out = join(folder, 'resumed')
    const args = ['--limit', '0', '--only', 'layout,padding,gradients']
    const program = [join(folder, 'gpu_validation.mjs'), out, '--quick', '--python', 'none', ...args]
    spawnSync(process.execPath, program, { env, timeout: 1500, killSignal: 'SIGKILL' })
    expect(validate(out, ...args, '--resume').status).toBe(0)
    const sections = new Set(outcomes(out).map(({ section }) => section))
    expect(sections).toEqual(new Set(['layout', 'padding', 'gradients']))
  })

  it('a run ends within its limit', TIMEOUT, () => {
    const out = join(folder, 'limited')
    // Less than a section needs at least, so that the result does not depend on the machine's speed.
    const { stdout } = validate(out, '--limit', '2', '--only', 'capture,algorithms,conformance tf32')
    expect(stdout).toContain('Report: ')
    expect(outcomes(out).some(({ measured }) => measured === 'no time was left')).toBe(true)
  })
})
