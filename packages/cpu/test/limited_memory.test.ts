import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { bundleProgram } from '../../../scripts/bundle_program.mjs'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

const skipped = process.platform !== 'linux' || instructionSetsUnderTest('limited memory').length === 0

interface Outcome {
  readonly small: string
  readonly large?: string
  readonly again: string
  /** KiB of addresses, before the large pass. */
  readonly size: number
  /** KiB of memory that the large pass left. */
  readonly growth: number
  readonly before: unknown
  readonly after: unknown
}

const MIB = 2 ** 10
/** Its output has 64 MiB, its tape several times that. */
const STEPS = 2 ** 14

it.skipIf(skipped)(
  'a training pass without memory for its tape rejects with a code and leaves nothing behind',
  async () => {
    const here = fileURLToPath(new URL('.', import.meta.url))
    // As deep as the package's own dist: the addon of this repository is searched for beside the file.
    const program = join(here, `../node_modules/.limited_memory-${randomUUID()}.mjs`)
    onTestFinished(() => rm(program, { force: true }))
    await bundleProgram(join(here, 'programs/limited_memory.ts'), program)
    const run = (limit: number | undefined, steps: number): Outcome => {
      const command = `${limit === undefined ? '' : `ulimit -v ${limit} && `}exec "$0" "$@"`
      const child = spawnSync('sh', ['-c', command, process.execPath, program, String(steps)], { encoding: 'utf8' })
      expect(child.stderr).toBe('')
      return JSON.parse(child.stdout) as Outcome
    }
    const { size } = run(undefined, 0)
    const { small, large, again, growth, before, after } = run(size + 192 * MIB, STEPS)
    expect([small, large, again]).toEqual(['done, done', 'ERR_OUT_OF_MEMORY', 'done, done'])
    expect(after).toEqual(before)
    expect(growth).toBeLessThan(64 * MIB)
  },
)
