import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expectAllclose } from '@cudnn-rnn/conformance'
import { COMMUNICATOR_CASES } from '@cudnn-rnn/conformance/communicators'
import { Philox } from '@cudnn-rnn/ops/executor'
import { beforeAll, describe, expect, it } from 'vitest'
import { measured } from '../../../scripts/testing/measured_figures.mjs'
import { loadAddon } from '../src/load_addon.js'
import { soleCommunicator } from '../src/open_communicator.js'
import { installedLaunchers, launch, type MpiLauncher } from './mpi_launchers.js'
import { type RaggedTraining, trainOnRagged } from './ragged_training.js'
import { areRanksWhole, isWhole } from './rank_cases.js'
import { type Training, usesRankPrograms } from './rank_programs.js'

/** The check `ranks` of CI runs these. */
const ofRanks = <Case>(cases: readonly Case[]) => (areRanksWhole ? cases : [])
/** The check `ranks` of CI runs each of these over one launcher. */
const dealt = <Case>(launcher: MpiLauncher, cases: readonly Case[]) =>
  ofRanks(cases).filter((_, index) => isWhole || launcher === launchers[index % launchers.length])
/** `npm run test:all` and the nightly workflow run these. */
const rare = <Case>(cases: readonly Case[]) => (isWhole ? cases : [])

const launchers = loadAddon().addon === undefined ? [] : installedLaunchers()
/** One launcher runs all cases that do not depend on the MPI. */
const first = <Case>(launcher: MpiLauncher, cases: readonly Case[]) => (launcher === launchers[0] ? cases : rare(cases))
/** A run without `ranks` has one launcher's cases among those that depend on the MPI. */
const each = <Case>(launcher: MpiLauncher, cases: readonly Case[]) =>
  launcher === launchers[0] ? cases : ofRanks(cases)

/** Another number kills that many times: `CUDNN_RNN_RANK_KILLS=50 CUDNN_RNN_SEED=3 vitest run --project distributed -t killed`. */
const kills = Number(process.env['CUDNN_RNN_RANK_KILLS'] ?? 1)
const seed = Number(process.env['CUDNN_RNN_SEED'] ?? 1)

const programs = usesRankPrograms()
const raggedAlone = trainOnRagged(soleCommunicator('none: one process'))
let alone: Training
beforeAll(async () => {
  const settings = JSON.stringify({ engine: 'none' })
  const { stdout } = await promisify(execFile)(process.execPath, [programs.training, settings])
  alone = JSON.parse(stdout) as Training
})

describe.each(launchers)('MPI by $name', (launcher) => {
  it.each([...each(launcher, [2]), ...dealt(launcher, [1, 3, 4])])(
    'trains on ragged batches as one process, and passes the conformance suite: %d ranks',
    async (ranks) => {
      const { code, output, errors } = await launch(launcher, ranks, programs.ranks, ['everything', 'mpi'])
      expect([code, errors]).toEqual([0, ''])
      const [reason, training, ...names] = output.trim().split('\n')
      expect(reason).toMatch(new RegExp(`^mpi: ${launcher.name}.*has started ${ranks} processes$`))
      const together = JSON.parse(training!) as RaggedTraining
      const { step, ending } = await raggedAlone
      expect([step, ending]).toEqual([15, 'stopped early'])
      expect([together.step, together.ending]).toEqual([step, ending])
      for (const name of ['losses', 'norms', 'metrics', 'parameters'] as const) {
        expectAllclose(name, together[name], (await raggedAlone)[name], 1e-6)
      }
      expectAllclose('best', [together.best], [(await raggedAlone).best], 1e-6)
      expect(names).toEqual(COMMUNICATOR_CASES.map(({ name }) => name))
    },
  )

  it.each([...each(launcher, [1]), ...rare([2])])('keeps no memory of thousands of calls: %d ranks', async (ranks) => {
    const { code, output, errors } = await launch(launcher, ranks, programs.ranks, ['many calls', 'mpi'])
    expect([code, errors]).toEqual([0, ''])
    const { growth, kept } = JSON.parse(output) as Record<'growth' | 'kept', number>
    expect(growth).toBeLessThan(kept / 2)
  })

  it.each(rare([2, 3, 4]))('trains through whole epochs over %d ranks as one process', async (ranks) => {
    const { code, output, errors } = await launch(launcher, ranks, programs.training, [
      JSON.stringify({ engine: 'auto' }),
    ])
    expect([code, errors]).toEqual([0, ''])
    const together = JSON.parse(output) as Training
    expectAllclose('losses', together.losses, alone.losses, 1e-6)
    expectAllclose('kernel', together.kernel, alone.kernel, 1e-6)
  })

  it.runIf(isWhole || launcher === launchers[0])(
    'trains with bfloat16 on the wire, with all ranks equal, and near to one process',
    async () => {
      const settings = JSON.stringify({ engine: 'auto', wire: 'bfloat16' })
      const { code, output, errors } = await launch(launcher, 2, programs.training, [settings])
      expect([code, errors]).toEqual([0, ''])
      const { losses } = JSON.parse(output) as Training
      expectAllclose('losses', losses, alone.losses, 2e-2)
      expect(losses).not.toEqual(alone.losses)
    },
  )

  it.runIf(areRanksWhole || launcher === launchers[0])(
    'ends a training of which one rank fails, and names it',
    async () => {
      const { code, errors } = await launch(launcher, 2, programs.training, [
        JSON.stringify({ engine: 'auto', fails: true }),
      ])
      expect(errors).toMatch(/no memory/)
      expect(errors).toMatch(/ERR_RANK_FAILED|rank 1 of 2 on .*: it ended with exit code 1/)
      expect(code).toBe(1)
    },
  )

  it.each([
    ...first(launcher, ofRanks(['long work of one'])),
    ...rare(['second long work of one', 'dispose', 'process.exit(0)']),
  ])('ends with code 0 by %s', async (what) => {
    expect(await launch(launcher, 2, programs.ranks, [what])).toEqual({ code: 0, output: '', errors: '' })
  })

  it.each([
    ...each(launcher, [
      [
        'silence of one',
        75,
        /rank 0 of 2 .*: Cannot complete barrier \(call 2, 0 bytes\) as rank 1 of 2 on \S+ has sent no heartbeat for 1\.0 s/,
      ],
    ] as const),
    ...first(launcher, [
      ['dispose of one', 70, /rank 1 of 2 on .*: it left while rank 0 of 2 on .* waits for it in allReduce \(call 2\)/],
      [
        'stop of one',
        75,
        /rank 0 of 2 .*: Cannot complete barrier \(call 2, 0 bytes\) .* within 1\.5 s: rank 1 of 2 on \S+ does not answer/,
      ],
    ] as const),
    ...first(
      launcher,
      ofRanks([
        [
          'endless loop of one in a training',
          75,
          /rank 0 of 2 .*: Cannot complete barrier .* as rank 1 of 2 on \S+ computes for more than 8\.0 s without a return/,
        ],
      ] as const),
    ),
    ...rare([
      [
        'exception of one',
        1,
        /rank 1 of 2 on .*: it ended with exit code 1 before dispose\(\)[\s\S]*Error: the data of rank 1/,
      ],
      [
        'process.exit(0) of one',
        70,
        /rank 1 of 2 on .*: it left while rank 0 of 2 on .* waits for it in barrier \(call 1\)/,
      ],
      ['process.exit(3) of one', 3, /rank 1 of 2 on .*: it ended with exit code 3 before dispose\(\)/],
      ['caught exception of one', 4, /rank 1 of 2 on .*: it ended with exit code 4/],
      ['abort of one', 9, /rank 1 of 2 on .*: the disk is full/],
      [
        'endless loop of one',
        75,
        /rank 0 of 2 .*: Cannot complete barrier .* as rank 1 of 2 on \S+ computes for more than 1\.5 s without a return/,
      ],
    ] as const),
  ] as const)('ends all ranks at the %s', async (what, expected, message) => {
    const { code, errors } = await launch(launcher, 2, programs.ranks, [what])
    expect(errors).toMatch(message)
    expect(code).toBe(expected)
  })

  // Limits of the communicator are longer than `launch`'s: the launcher ends the others.
  it.each([
    ...each(launcher, [['kill of one', 9]] as const),
    ...ofRanks([
      ['crash of one', 11],
      ['process.abort() of one', 6],
    ] as const),
  ])('ends all ranks at the %s, with one report', async (what, signal) => {
    const { code, output, errors } = await launch(launcher, 2, programs.ranks, [what])
    expect(`${output}${errors}`.match(launcher.reports(1, signal))).toHaveLength(1)
    // Open MPI adds 128; MPICH has the bits of the signals of all ranks.
    expect(code! & signal).toBe(signal)
  })

  it.each([
    ...first(launcher, ['terminate() of a thread']),
    ...ofRanks(['terminate() of a thread that opens', 'process.exit() of a thread', 'process.exit() beside a thread']),
  ])(
    'ends all ranks if the thread of one is killed inside MPI: %s',
    async (what) => {
      for (let run = 0; run < kills; run++) {
        const { code, output, errors } = await launch(launcher, 2, programs.ranks, [what])
        // Ranks that open MPI wait for one that never does until their deadline, or until Open MPI sees the end of that one.
        expect(errors).toMatch(
          /its thread ended|left while a call was pending|come to it within 5\.0 s|exiting improperly/,
        )
        const crash = /signal (?:4|6|7|8|11)\b/.exec(`${output}${errors}`)
        measured({ 'threads that ended inside MPI': 1, 'ranks that they crashed': Number(crash !== null) })
        expect(crash).toBeNull()
        expect(code).not.toBe(0)
      }
    },
    kills * 20_000 + 60_000,
  )

  it.each(dealt(launcher, ['SIGTERM', 'SIGINT'] as const))(
    'saves at %s to the launcher, and a resumed training equals an uninterrupted one',
    async (name) => {
      const settings = (more: object) => [JSON.stringify({ engine: 'auto', epochs: 12, ...more })]
      const checkpoint = join(programs.folder, `${launcher.name}-${name}.json`)
      let isSent = false
      const stopped = await launch(
        launcher,
        2,
        programs.training,
        settings({ checkpoint, stopsAt: 13 }),
        {},
        (child, output) => {
          if (isSent || !output.includes('waits')) return
          isSent = true
          child.kill(name)
        },
      )
      expect(stopped.errors).not.toMatch(/ERR_/)
      const { record } = JSON.parse(await readFile(checkpoint, 'utf8')) as { record: { step: number } }
      // The signal of one rank ends all after the step in which it came.
      expect([13, 14]).toContain(record.step)
      const resumed = await launch(launcher, 2, programs.training, settings({ checkpoint }))
      const whole = await launch(launcher, 2, programs.training, settings({}))
      expect([resumed.code, whole.code]).toEqual([0, 0])
      const [{ kernel, losses }, expected] = [resumed, whole].map(({ output }) => JSON.parse(output) as Training) as [
        Training,
        Training,
      ]
      expect(expected.losses).toHaveLength(56)
      expect({ kernel, losses }).toEqual({ kernel: expected.kernel, losses: expected.losses.slice(record.step) })
    },
  )

  it.runIf(isWhole)('is opened once per process', async () => {
    const { code, output } = await launch(launcher, 2, programs.ranks, ['reopen'])
    expect([code, output]).toEqual([0, 'ERR_COMMUNICATOR_OPENED\nERR_COMMUNICATOR_OPENED\n'])
  })

  it.runIf(launchers.length === 2 && (areRanksWhole || launcher === launchers[0]))(
    'refuses the library of another MPI, which sees one process',
    async () => {
      const { code, errors } = await launch(launcher, 2, programs.ranks, ['dispose', 'auto', launcher.foreign])
      expect(errors).toMatch(
        /must see the 2 processes that mpi(run|exec) of .* has started: it sees 1, so that each would/,
      )
      expect(code).not.toBe(0)
    },
  )
})

/** MPICH's report names a killed process, not its rank. */
const naming = ofRanks(launchers.filter(({ name }) => name === 'Open MPI'))

it.each(naming)(
  'a training whose ranks are killed and that is started again equals an uninterrupted one',
  async (launcher) => {
    const train = async (checkpoint: string, kill?: object) =>
      await launch(launcher, 2, programs.training, [JSON.stringify({ engine: 'auto', epochs: 60, checkpoint, kill })])
    const whole = await train(join(programs.folder, 'whole.json'))
    expect(whole.code).toBe(0)
    const words = new Philox(seed)
    const random = (below: number) => Math.floor(words.uniform() * below)
    for (let run = 0, killed = 0; killed < kills; run++) {
      const checkpoint = join(programs.folder, `killed-${run}.json`)
      for (;;) {
        const isKilled = killed < kills
        const kill = { rank: random(2), batches: 1 + random(120), milliseconds: random(30) }
        const { code, output, errors } = await train(checkpoint, isKilled ? kill : undefined)
        if (code === 0) {
          // The losses of the last start are the last of all.
          const { losses, kernel } = JSON.parse(output) as Training
          const expected = JSON.parse(whole.output) as Training
          expect({ kernel, losses }).toEqual({
            kernel: expected.kernel,
            losses: losses.length === 0 ? [] : expected.losses.slice(-losses.length),
          })
          break
        }
        // One clear error of the launcher, or of the rank that waited, which has the number of the other.
        expect(errors).toMatch(new RegExp(`rank ${kill.rank}\\b|RANK ${kill.rank}\\b`))
        killed++
      }
    }
  },
  kills * 20_000 + 60_000,
)

it('the addon is built wherever a compiler is', () => {
  const isRequired = process.env['CUDNN_RNN_REQUIRE_NATIVE'] === '1'
  expect(loadAddon().addon !== undefined || !isRequired).toBe(true)
})
