import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expectAllclose } from '@cudnn-rnn/conformance'
import { COMMUNICATOR_CASES } from '@cudnn-rnn/conformance/communicators'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/bundle_program.mjs'
import { loadAddon } from '../src/load_addon.js'
import { installedLaunchers, launch } from './mpi_launchers.js'

/** Every start takes a second: these are run by `npm run test:all` and every night. */
const isWhole = process.env['CUDNN_RNN_TESTS'] === 'all'
const rare = <Case>(cases: readonly Case[]) => (isWhole ? cases : [])

const launchers = loadAddon().addon === undefined ? [] : installedLaunchers()

let folder: string
let program: string
let training: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'distributed-mpi-'))
  program = join(folder, 'ranks_program.mjs')
  training = join(folder, 'training_program.mjs')
  // The readers of tables are not used here.
  const external = ['apache-arrow', 'hyparquet', 'hyparquet-compressors']
  for (const [source, file] of [
    ['ranks_program.ts', program],
    ['training_program.ts', training],
  ] as const) {
    await bundleProgram(fileURLToPath(new URL(source, import.meta.url)), file, { external })
  }
})
afterAll(() => rm(folder, { recursive: true }))

describe.each(launchers)('MPI by $name', (launcher) => {
  it('passes the conformance suite', async () => {
    const { code, output, errors } = await launch(launcher, 2, program, ['conformance'])
    expect(errors).toBe('')
    expect(code).toBe(0)
    const [reason, ...names] = output.trim().split('\n')
    expect(reason).toMatch(new RegExp(`^mpi: ${launcher.name}.*has started 2 processes$`))
    expect(names).toEqual(COMMUNICATOR_CASES.map(({ name }) => name))
  })

  it.each([launcher.name === 'MPICH' ? 2 : 3, ...rare([1, 4])])(
    'trains over %d ranks as one process with the whole batches',
    async (ranks) => {
      const run = async (options: readonly string[]) => {
        const { code, output, errors } = await launch(launcher, ranks, training, options)
        expect([code, errors]).toEqual([0, ''])
        return JSON.parse(output) as { readonly losses: number[]; readonly kernel: number[] }
      }
      const together = await run(['auto'])
      // Each process by itself; the first prints.
      const alone = await run(['none'])
      expectAllclose('losses', together.losses, alone.losses, 1e-6)
      expectAllclose('kernel', together.kernel, alone.kernel, 1e-6)
    },
  )

  it('ends a training of which one rank fails, and names it', async () => {
    const { code, errors } = await launch(launcher, 2, training, ['auto', 'fail'])
    expect(errors).toMatch(/no memory/)
    expect(errors).toMatch(/ERR_RANK_FAILED|rank 1 of 2 on .*: it ended with exit code 1/)
    expect(code).toBe(1)
  })

  it.each(['end of the program', ...rare(['dispose', 'process.exit(0)'])])('ends with code 0 by %s', async (what) => {
    expect(await launch(launcher, 2, program, [what])).toEqual({ code: 0, output: '', errors: '' })
  })

  it.each([
    ['dispose of one', 70, /rank 1 of 2 on .*: it left while rank 0 of 2 on .* waits for it in allReduce \(call 2\)/],
    [
      'exception of one',
      1,
      /rank 1 of 2 on .*: it ended with exit code 1 before dispose\(\)[\s\S]*Error: the data of rank 1/,
    ],
    [
      'stop of one',
      75,
      /rank 0 of 2 .*: Cannot complete barrier \(call 2, 0 bytes\) .* within 1\.5 s: rank 1 of 2 on \S+ does not answer/,
    ],
    ...rare([
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
        /rank 0 of 2 .*: Cannot complete barrier .*: rank 1 of 2 on \S+ is in no call since .*its last was call 1/,
      ],
    ] as const),
  ] as const)('ends all ranks at the %s', async (what, expected, message) => {
    const { code, errors } = await launch(launcher, 2, program, [what])
    expect(errors).toMatch(message)
    expect(code).toBe(expected)
  })

  it.runIf(isWhole)('ends all ranks when one is killed', async () => {
    const { code } = await launch(launcher, 2, program, ['kill of one'])
    expect(code).not.toBe(0)
  })

  it.runIf(isWhole)('is opened once per process', async () => {
    const { code, output } = await launch(launcher, 2, program, ['reopen'])
    expect([code, output]).toEqual([0, 'ERR_COMMUNICATOR_OPENED\nERR_COMMUNICATOR_OPENED\n'])
  })

  it.runIf(launchers.length === 2)('refuses the library of another MPI, which sees one process', async () => {
    const { code, errors } = await launch(launcher, 2, program, ['dispose', launcher.foreign])
    expect(errors).toMatch(
      /must see the 2 processes that mpi(run|exec) of .* has started: it sees 1, so that each would/,
    )
    expect(code).not.toBe(0)
  })
})

it('the addon is built wherever a compiler is', () => {
  const isRequired = process.env['CUDNN_RNN_REQUIRE_NATIVE'] === '1'
  expect(loadAddon().addon !== undefined || !isRequired).toBe(true)
})
