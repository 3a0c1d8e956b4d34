import { writeFileSync } from 'node:fs'
import { describe, it, test } from 'vitest'
import { runDifferential } from '../src/differential_run.js'
import { type TestedExecutor, testedExecutors } from '../src/executors.js'
import { extremePrograms } from '../src/extreme_program_arbitrary.js'
import { programs } from '../src/program_arbitrary.js'

/**
 * A test run has a fixed seed. `pnpm test:programs` runs more programs with a random seed and prints it.
 * CUDNN_RNN_PROGRAMS_LAST names a file that receives each program before it runs, to find the one that ends the process.
 */
const { CUDNN_RNN_PROGRAMS: count, CUDNN_RNN_PROGRAMS_SEED: given, CUDNN_RNN_PROGRAMS_LAST: last } = process.env
const seed = given === 'random' ? Date.now() >>> 0 : Number(given ?? 20261121)

const { found, missing } = testedExecutors()
for (const what of missing) test.skip(what, () => {})

/** Each with the part of the usual number that a test run takes of it. */
const KINDS = [
  ['random programs', programs, 1],
  ['random programs with NaN, infinities and huge values', extremePrograms, 0.4],
] as const

/** The CUDA emulator takes ten times as long as all instruction sets of the CPU together. */
const GROUPS: readonly (readonly [string, number, readonly TestedExecutor[]])[] = [
  ['the CPU', 30, found.filter(({ name }) => !name.startsWith('cudnn'))],
  ['cuDNN', 16, found.filter(({ name }) => name.startsWith('cudnn'))],
]

describe.each(KINDS)('%s', (_, kind, share) => {
  describe.each(GROUPS)('on the reference and %s', (_, usual, group) => {
    const number = count === undefined ? Math.round(usual * share) : Number(count)
    it.skipIf(group.length === 0)(
      `agree in values, errors and live objects: ${number}, seed ${seed}`,
      { timeout: 120_000 + number * 5000 },
      () =>
        runDifferential({
          ...{ programs: kind, testedExecutors: group, count: number, seed },
          onProgram: last === undefined ? undefined : (program) => writeFileSync(last, JSON.stringify(program)),
        }),
    )
  })
})
