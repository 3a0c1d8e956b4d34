import { writeFileSync } from 'node:fs'
import { describe, it, test } from 'vitest'
import { runCampaign } from '../src/campaign.js'
import { type Contestant, contestants } from '../src/executors.js'

/**
 * A test run makes the same programs every time; `pnpm test:programs` makes others, and more, and says their seed.
 * CUDNN_RNN_PROGRAMS_LAST names a file that holds the program under way, for when the process itself dies.
 */
const { CUDNN_RNN_PROGRAMS: count, CUDNN_RNN_PROGRAMS_SEED: given, CUDNN_RNN_PROGRAMS_LAST: last } = process.env
const seed = given === 'random' ? Date.now() >>> 0 : Number(given ?? 20261121)

const { found, missing } = contestants()
for (const what of missing) test.skip(what, () => {})

/** The GPU's imitation takes ten times as long as all kernels of the CPU together. */
const GROUPS: readonly (readonly [string, number, readonly Contestant[]])[] = [
  ['the CPU', 200, found.filter(({ name }) => name.startsWith('cpu'))],
  ['cuDNN', 60, found.filter(({ name }) => name.startsWith('cudnn'))],
]

describe.each(GROUPS)('random programs on the reference and %s', (_, usual, group) => {
  const programs = count === undefined ? usual : Number(count)
  it.skipIf(group.length === 0)(
    `agree in values, errors, and what is alive: ${programs}, seed ${seed}`,
    { timeout: 120_000 + programs * 5000 },
    () =>
      runCampaign({
        ...{ contestants: group, count: programs, seed },
        onProgram: last === undefined ? undefined : (program) => writeFileSync(last, JSON.stringify(program)),
      }),
  )
})
