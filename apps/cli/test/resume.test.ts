import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { outcome, start, usesProgram } from './built_program.js'
import { run as runProgram } from './program_run.js'
import { temporaryDirectory, writeSmallText } from './small_run.js'

usesProgram()

/** Any executor does; this one is on every machine. */
const EXECUTOR = ['--backend', 'reference']
const run = (...args: string[]) => runProgram(...args, ...EXECUTOR)

interface Task {
  readonly command: string
  /** Begins a run; `--out` and steps are added. */
  readonly begin: readonly string[]
  /** An option that is fixed, another value of it, and how the run was begun. */
  readonly fixed: readonly (readonly [flag: string, value: string, begun: string])[]
}

const rows = Array.from({ length: 60 }, (_, k) => {
  const month = new Date(Date.UTC(2000, k, 1)).toISOString().slice(0, 10)
  return `${month},${(5 * Math.sin(k) + (k % 7)).toFixed(3)}`
})
const messages = Array.from({ length: 60 }, (_, k) =>
  JSON.stringify({ text: `${k % 2 ? 'buy now' : 'see you'} ${k % 5} ${k % 3}`, label: k % 2 ? 'spam' : 'ham' }),
)

async function tasks(directory: string): Promise<Task[]> {
  const [csv, jsonl] = [join(directory, 'series.csv'), join(directory, 'texts.jsonl')]
  await writeFile(csv, `month,value\n${rows.join('\n')}\n`)
  await writeFile(jsonl, `${messages.join('\n')}\n`)
  const shape = ['--season', '6', '--window', '6', '--horizon', '2', '--held-out', '12']
  return [
    {
      command: 'train',
      begin: [
        '--text',
        await writeSmallText(directory),
        '--units',
        '6',
        '--embedding',
        '4',
        '--batch',
        '3',
        '--time',
        '6',
      ],
      fixed: [
        ['--units', '64', '6'],
        ['--learning-rate', '0.5', '0.005'],
      ],
    },
    {
      command: 'forecast',
      begin: ['--csv', csv, ...shape, '--units', '4', '--batch', '4', '--patience', '100'],
      fixed: [
        ['--horizon', '3', '2'],
        ['--cell', 'gru', 'lstm'],
      ],
    },
    {
      command: 'classify',
      begin: ['--jsonl', jsonl, '--units', '4', '--embedding', '4', '--batch', '8', '--patience', '100'],
      fixed: [
        ['--words', '10', '3000'],
        ['--weight-decay', '0', '0.05'],
      ],
    },
  ]
}

const stepsOf = async (out: string) =>
  (await readFile(join(out, 'metrics.jsonl'), 'utf8'))
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { step: number }).step)
const upTo = (steps: number) => Array.from({ length: steps }, (_, k) => k + 1)
const indexes = async (out: string) => (await readdir(out)).filter((name) => name.endsWith('.index')).sort()

describe.each([0, 1, 2])('--resume of task %i', { timeout: 180_000 }, (which) => {
  let [directory, out] = ['', '']
  let task: Task
  const resume = (...more: string[]) => run(task.command, '--resume', '--out', out, ...more)
  // Every test resumes from the end of one run.
  const begin = async () => {
    directory = await temporaryDirectory()
    out = join(directory, 'run')
    task = (await tasks(directory))[which]
    const begun = await run(task.command, ...task.begin, '--out', out, '--steps', '6', '--evaluate-every', '3')
    expect({ exitCode: begun.exitCode, stderr: begun.stderr }).toEqual({ exitCode: 0, stderr: '' })
  }

  it('trains a finished run longer, refuses changes of fixed options, and accepts others', async () => {
    await begin()
    const finished = await resume()
    expect(finished).toMatchObject({ exitCode: 0, stderr: '' })
    expect(finished.stdout).toContain('Resumed   after step 6 of 6; the run is finished, --steps')
    const before = await readFile(join(out, 'run.json'), 'utf8')
    for (const [flag, value, begun] of task.fixed) {
      const refused = await resume(flag, value)
      expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('[ERR_RESUME_OPTION]') })
      expect(refused.stderr).toContain(`with ${flag} ${value} as the run was begun with ${flag} ${begun}`)
    }
    const fewer = await resume('--steps', '4')
    expect(fewer).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('[ERR_STEPS_DONE]') })
    expect(await readFile(join(out, 'run.json'), 'utf8')).toBe(before)
    expect(await stepsOf(out)).toEqual(upTo(6))

    // The same value again is accepted.
    const [flag, , begun] = task.fixed[0]
    const longer = await resume('--steps', '9', '--save-every', '2', flag, begun)
    expect({ exitCode: longer.exitCode, stderr: longer.stderr }).toEqual({ exitCode: 0, stderr: '' })
    expect(await stepsOf(out)).toEqual(upTo(9))
    expect(await indexes(out)).toEqual(['model-8.index', 'model-9.index'])
    expect((await resume()).stdout).toContain('after step 9 of 9')
  })

  it('resumes from the newest complete checkpoint, lists skipped ones, and never restarts silently', async () => {
    await begin()
    await rm(join(out, 'model-6.index'))
    const resumed = await resume('--steps', '8', '--json')
    expect(resumed.exitCode).toBe(0)
    expect(resumed.stderr).toMatch(/^warning: model-6 was passed over \[ERR_CHECKPOINT_NOT_FOUND\]/)
    const first = JSON.parse(resumed.stdout.split('\n')[0])
    // Another checkpoint of step 6 may be the best.
    const from = first.step - 1
    expect([3, 6]).toContain(from)
    expect(first.resumed).toMatchObject({ step: from, skipped: [{ code: 'ERR_CHECKPOINT_NOT_FOUND' }] })
    expect(await stepsOf(out)).toEqual(upTo(8))
    const metrics = await readFile(join(out, 'metrics.jsonl'), 'utf8')
    expect(JSON.parse(metrics.split('\n')[from]).resumed.skipped).toHaveLength(1)

    await rm(join(out, 'best'), { recursive: true, force: true })
    for (const name of await indexes(out)) await writeFile(join(out, name), 'damaged')
    const refused = await resume()
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('[ERR_NO_WHOLE_CHECKPOINT]') })
    expect(refused.stderr).toContain('from a copy, or begin a new run')
    for (const name of await readdir(out)) if (/^(?:model|checkpoint)/.test(name)) await rm(join(out, name))
    expect(await resume()).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('[ERR_NO_WHOLE_CHECKPOINT]'),
    })
    expect(await stepsOf(out)).toEqual(upTo(8))
  })
})

it('--resume auto begins a run where the directory holds none, and refuses that of another command', async () => {
  const directory = await temporaryDirectory()
  const [train, forecast] = await tasks(directory)
  const out = join(directory, 'run')
  const command = [...forecast.begin, '--out', out, '--steps', '4', '--evaluate-every', '2', '--resume', 'auto']
  const begun = await run('forecast', ...command)
  expect(begun).toMatchObject({ exitCode: 0, stderr: '' })
  expect(begun.stdout).not.toContain('Resumed')
  const again = await run('forecast', ...command)
  expect(again).toMatchObject({ exitCode: 0, stderr: '' })
  expect(again.stdout).toContain('Resumed   after step 4 of 4')
  expect(await stepsOf(out)).toEqual(upTo(4))
  const refused = await run('train', ...train.begin, '--out', out, '--resume', 'auto')
  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('[ERR_NO_RUN]') })
  expect(refused.stderr).toContain('this is a forecast run')
}, 60_000)

describe('a run that another process trains', () => {
  it('is neither resumed nor replaced', async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    const [train] = await tasks(directory)
    const begin = [...train.begin, '--out', out, '--steps', '1000000', '--json']
    const child = start(['train', ...begin, ...EXECUTOR])
    const ended = outcome(child)
    await Promise.race([new Promise((resolve) => child.stdout.once('data', resolve)), ended])
    for (const args of [
      ['--resume', '--out', out],
      [...begin, '--overwrite'],
    ]) {
      const refused = await run('train', ...args)
      expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('[ERR_RUN_LOCKED]') })
      expect(refused.stderr).toContain(`process ${child.pid} on host`)
    }
    child.kill('SIGKILL')
    await ended
    expect((await run('train', '--resume', '--out', out, '--max-seconds', '0', '--json')).exitCode).toBe(0)
    expect(await readdir(out)).not.toContain('training.lock')
  })
})
