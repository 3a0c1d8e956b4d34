import { type ChildProcess, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { OPEN_MPI_OPTIONS, startLauncher } from '../../../scripts/testing/open_mpi_options.mjs'
import { rankSpeeds } from '../src/ranks.js'
import { outcome, packagePath, programPath, runProcess, usesProgram } from './built_program.js'
import { SMALL_FORECAST, temporaryDirectory, writeSmallText } from './small_run.js'

usesProgram()

const addon = join(packagePath, `../../native/mpi/prebuilds/${process.platform}-${process.arch}-gnu/cudnn_rnn_mpi.node`)
/** Debian's Open MPI. */
const LAUNCHER = 'mpirun.openmpi'
const canLaunch = existsSync(addon) && spawnSync(LAUNCHER, ['--version']).status === 0
/** A start of ranks takes a second: `npm run test:all` runs every case, the check `ranks` of CI all but the second signal. */
const { CUDNN_RNN_TESTS: extent = '' } = process.env
const areRanksWhole = ['ranks', 'all'].includes(extent)
const signals = (['SIGTERM', 'SIGINT'] as const).filter(
  (_, index) => extent === 'all' || (areRanksWhole && index === 0),
)
if (!canLaunch) console.warn('Commands over MPI are not tested, as mpirun.openmpi or the addon was not found')

/** Starts Node.js in `ranks` processes. */
const launch = (ranks: number, ...args: readonly string[]) =>
  startLauncher(LAUNCHER, [...OPEN_MPI_OPTIONS, '-n', String(ranks), process.execPath, ...args], {
    env: { ...process.env, NO_COLOR: '1', CUDNN_RNN_MPI_ADDON: addon },
  })

/** The processes that mpirun has started. */
const ranksOf = ({ pid }: ChildProcess) =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )

const startOver = (ranks: number, ...args: readonly string[]) => launch(ranks, programPath, ...args)

const runOver = (ranks: number, ...args: readonly string[]) => outcome(startOver(ranks, ...args))

/** Starts the program with the list of its rank. */
const CHOOSE = `const [program, lists] = process.argv.splice(1)
process.argv.push(program, ...JSON.parse(lists)[process.env.OMPI_COMM_WORLD_RANK])
await import(program)`

/**
 * Runs the program on one rank for each list of arguments. Not by `mpirun … : …`, which Debian's packages of Open MPI 5 end with a
 * segmentation fault (open-mpi/ompi#13303).
 */
const runEach = (...lists: readonly (readonly string[])[]) =>
  outcome(launch(lists.length, '--input-type=module', '--eval', CHOOSE, programPath, JSON.stringify(lists)))

const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, number>)

/** Sentences of two classes. */
async function writeTexts(directory: string): Promise<string> {
  const path = join(directory, 'texts.csv')
  const rows = Array.from(
    { length: 60 },
    (_, k) => `${k % 2 ? 'buy this now' : 'see you there'} ${'word '.repeat(k % 5)},${k % 2}`,
  )
  await writeFile(path, `text,label\n${rows.join('\n')}\n`)
  return path
}

describe.runIf(canLaunch)('a command under mpirun', () => {
  it('trains over the ranks with the numbers of one process, and the first alone prints', async () => {
    const directory = await temporaryDirectory()
    const csv = await writeTexts(directory)
    const train = [
      'classify',
      '--csv',
      csv,
      '--steps',
      '4',
      '--evaluate-every',
      '2',
      '--backend',
      'cpu',
      '--json',
      '--out',
    ]
    const together = await runOver(2, ...train, join(directory, 'together'))
    const alone = await runProcess(...train, join(directory, 'alone'))
    expect([together.exitCode, together.stderr]).toEqual([0, ''])
    const [steps, expected] = [linesOf(together.stdout), linesOf(alone.stdout)]
    expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 4])
    for (const [index, { loss }] of expected.slice(0, 4).entries()) expect(steps[index]!['loss']).toBeCloseTo(loss!, 5)
    expect(steps[4]!['ranks']).toMatchObject([{ rank: 0 }, { rank: 1 }])
    expect(await readFile(join(directory, 'together/report.html'), 'utf8')).toContain('</html>')
  }, 60_000)

  it.runIf(areRanksWhole)(
    'carries the states of a text over ranks, and resumes over another number of them',
    async () => {
      const directory = await temporaryDirectory()
      const text = await writeSmallText(directory)
      const sizes = ['--units', '6', '--embedding', '4', '--batch', '5', '--time', '6', '--evaluate-every', '4']
      const train = ['train', '--text', text, ...sizes, '--backend', 'cpu', '--json', '--out']
      const together = join(directory, 'together')
      const parts = [
        await runOver(3, ...train, together, '--steps', '6', '--learning-rate', '0.02'),
        await runOver(2, 'train', '--resume', '--out', together, '--steps', '8', '--backend', 'cpu', '--json'),
      ]
      expect(parts.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual([
        [0, ''],
        [0, ''],
      ])
      const alone = join(directory, 'alone')
      const expected = [
        await runProcess(...train, alone, '--steps', '6', '--learning-rate', '0.02'),
        await runProcess('train', '--resume', '--out', alone, '--steps', '8', '--backend', 'cpu', '--json'),
      ]
      const lines = (some: readonly { stdout: string }[]) => some.flatMap(({ stdout }) => linesOf(stdout))
      const bits = (some: readonly { stdout: string }[]) =>
        lines(some).flatMap(({ ranks, bits, heldOutBits }) => (ranks ? [] : [bits!, heldOutBits ?? 0]))
      const speeds = lines(parts).flatMap(({ ranks }) => (ranks as unknown as { rank: number }[]) ?? [])
      expect(speeds.map(({ rank }) => rank)).toEqual([0, 1, 2, 0, 1])
      expect(bits(parts)).toHaveLength(16)
      for (const [index, bit] of bits(expected).entries()) expect(bits(parts)[index]).toBeCloseTo(bit, 5)
    },
    90_000,
  )

  it.each(signals)(
    'saves at %s to one rank, as before a time limit, and continues by the same command',
    async (signal) => {
      const directory = await temporaryDirectory()
      const text = await writeSmallText(directory)
      const sizes = ['--units', '6', '--embedding', '4', '--batch', '5', '--time', '6', '--steps', '1000000']
      const out = ['--backend', 'cpu', '--json', '--resume', 'auto', '--out', join(directory, 'run')]
      const train = ['train', '--text', text, ...sizes, ...out]
      const starts: Record<string, number>[][] = []
      for (let start = 0; start < 2; start++) {
        const child = startOver(2, ...train)
        // mpirun would kill the ranks a second after a signal to itself, whether they have saved or not.
        child.stdout.once('data', () => process.kill(ranksOf(child).at(-1)!, signal))
        const { stdout } = await outcome(child)
        starts.push(stdout.split('\n').flatMap((line) => (line.endsWith('}') ? [JSON.parse(line)] : [])))
      }
      const [first, second] = starts.map((lines) => lines.flatMap(({ step, ranks }) => (ranks ? [] : [step!])))
      expect(first![0]).toBe(1)
      expect(second![0]).toBeGreaterThan(first!.at(-1)!)
    },
    60_000,
  )

  it.runIf(areRanksWhole)(
    'forecasts over the ranks with the numbers of one process',
    async () => {
      const directory = await temporaryDirectory()
      const csv = join(directory, 'series.csv')
      const rows = Array.from({ length: 120 }, (_, k) => {
        const month = new Date(Date.UTC(2000, k, 1)).toISOString().slice(0, 10)
        return `${month},${(k / 4 + 5 * Math.sin((2 * Math.PI * k) / 6) + Math.sin(k * k)).toFixed(4)}`
      })
      await writeFile(csv, `month,value\n${rows.join('\n')}\n`)
      const sizes = [...SMALL_FORECAST, '--batch', '7']
      const forecast = ['forecast', '--csv', csv, ...sizes, '--steps', '8', '--evaluate-every', '4', '--backend', 'cpu']
      const together = await runOver(2, ...forecast, '--json', '--out', join(directory, 'together'))
      const alone = await runProcess(...forecast, '--json', '--out', join(directory, 'alone'))
      expect([together.exitCode, together.stderr]).toEqual([0, ''])
      const [steps, expected] = [linesOf(together.stdout), linesOf(alone.stdout)]
      expect(steps).toHaveLength(expected.length)
      for (const [index, { loss }] of expected.slice(0, 8).entries())
        expect(steps[index]!['loss']).toBeCloseTo(loss!, 5)
      expect(steps.at(-1)!['ranks']).toMatchObject([{ rank: 0 }, { rank: 1 }])
      expect(await readFile(join(directory, 'together/forecast.csv'), 'utf8')).toContain('2010')
    },
    60_000,
  )

  it.runIf(areRanksWhole)(
    'prints an error of the command line, or of its files, that all ranks make once',
    async () => {
      const directory = await temporaryDirectory()
      const usage = await runOver(3, 'train', '--steps', 'many')
      expect([usage.exitCode, usage.stderr.match(/^error: .*--steps.*/gm)]).toEqual([
        2,
        [expect.stringMatching('many')],
      ])
      const missing = join(directory, 'missing.txt')
      const files = await runOver(
        3,
        'train',
        '--text',
        missing,
        '--out',
        join(directory, 'run'),
        '--backend',
        'reference',
      )
      expect([files.exitCode, files.stderr.match(/^error.*/gm)]).toEqual([1, [expect.stringMatching('missing.txt')]])
    },
    60_000,
  )

  it('prints an error of the command line of one rank', async () => {
    const { exitCode, stderr } = await runEach(['--version'], ['train', '--steps', 'many'])
    expect([exitCode, stderr.match(/^error: .*--steps.*/gm)]).toEqual([2, [expect.stringMatching('many')]])
  }, 60_000)

  // The others are run by `npm run test:all` and every night.
  it.each([
    ...(areRanksWhole ? ['train'] : []),
    ...(process.env['CUDNN_RNN_TESTS'] === 'all' ? ['classify', 'forecast'] : []),
  ])(
    '%s refuses ranks with and without --wire bfloat16',
    async (command) => {
      const directory = await temporaryDirectory()
      const series = join(directory, 'series.csv')
      await writeFile(series, `k,value\n${Array.from({ length: 80 }, (_, k) => `${k},${Math.sin(k * k)}\n`).join('')}`)
      const data: Record<string, readonly string[]> = {
        train: ['--text', await writeSmallText(directory), '--units', '6', '--time', '6'],
        classify: ['--csv', await writeTexts(directory)],
        forecast: ['--csv', series, '--value', 'value', ...SMALL_FORECAST],
      }
      const args = [command, ...data[command]!, '--steps', '4', '--backend', 'cpu', '--out', join(directory, 'run')]
      const { exitCode, stderr } = await runEach([...args, '--wire', 'bfloat16'], args)
      expect(exitCode).toBe(1)
      expect(stderr.match(/error \[\w+\].*/g)).toEqual([expect.stringMatching(/ERR_RANKS_DIFFER.*wire.*bfloat16/)])
    },
    60_000,
  )
})

describe('rankSpeeds', () => {
  it('has the speed of each rank by its share, and its share of the time in the all-reduce', () => {
    const ranks = [
      { steps: 10, computing: 2, reducing: 0.5 },
      { steps: 10, computing: 0, reducing: 0 },
    ]
    expect(rankSpeeds(ranks, 5)).toEqual([
      { rank: 0, perSecond: 10, reducing: 0.2 },
      { rank: 1, perSecond: 0, reducing: 0 },
    ])
    expect(rankSpeeds(undefined, 5)).toEqual([])
  })
})
