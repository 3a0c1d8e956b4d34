import { required } from '@cudnn-rnn/canonical/rules'
import fc from 'fast-check'
import { Disagreement, expectAgreement } from './agreement.js'
import type { TestedExecutor } from './executors.js'
import type { Program } from './program.js'

export interface DifferentialOptions {
  readonly programs: fc.Arbitrary<Program>
  readonly testedExecutors: readonly TestedExecutor[]
  readonly count: number
  readonly seed: number
  /** Called before each program runs: after a crash the last one was the cause. */
  readonly onProgram?: ((program: Program) => void) | undefined
}

/** A program may take this long on all executors together, or it hangs. */
const MILLISECONDS = 60_000

/**
 * Runs random programs on all executors.
 *
 * @throws Error with the seed, the smallest program found that fails as well, and how it fails
 */
export async function runDifferential(options: DifferentialOptions): Promise<void> {
  const { programs, testedExecutors, count, seed, onProgram } = options
  let suspects = testedExecutors
  const agree = async (program: Program) => {
    onProgram?.(program)
    try {
      await expectAgreement(program, suspects)
    } catch (error) {
      // Only the one that failed runs while the program is made smaller.
      if (error instanceof Disagreement) suspects = error.executor === undefined ? [] : [error.executor]
      throw error
    }
  }
  const result = await fc.check(fc.asyncProperty(programs, agree), { seed, numRuns: count, timeout: MILLISECONDS })
  if (!result.failed) return
  const [program] = required(result.counterexample, 'a failed check has a counterexample')
  const { statements, ...settings } = program
  const text = [settings, ...statements].map((line) => JSON.stringify(line)).join('\n')
  const { message } = result.errorInstance as Error
  throw new Error(`seed ${seed}, program ${result.numRuns}: ${message}\n${text}`, { cause: result.errorInstance })
}
