import { firstDifference } from './compare_traces.js'
import { openReference, type TestedExecutor } from './executors.js'
import type { Program } from './program.js'
import { runProgram, type Trace } from './run_program.js'

/**
 * Error divided by the larger of 1 and the largest expected magnitude, both executors in the program's own type: the
 * difference of single passes (conformance tests of packages/cpu and packages/cudnn), times its growth through a program's updates.
 */
const TOLERANCES = { float32: 5e-5, float64: 1e-10 } as const
/** Their squares are finite. */
const LARGEST = { float32: 1e18, float64: 1e150 } as const

/** An executor that differs from the others. */
export class Disagreement extends Error {
  /** Undefined for the reference itself. */
  readonly executor: TestedExecutor | undefined

  constructor(executor: TestedExecutor | undefined, problem: string, options?: ErrorOptions) {
    super(`${executor?.name ?? 'reference'}: ${problem}`, options)
    this.executor = executor
  }
}

/** Runs a program on the reference and on every executor. Throws {@link Disagreement}. */
export async function expectAgreement(program: Program, testedExecutors: readonly TestedExecutor[]): Promise<void> {
  const expected = await traceOf(program, undefined)
  const exact = program.dtype === 'float32' ? await traceOf({ ...program, dtype: 'float64' }, undefined) : undefined
  for (const executor of testedExecutors) {
    const actual = await traceOf(program, executor)
    const isComparable = executor.sharesMasks || program.dropout === 0
    const tolerance = isComparable ? TOLERANCES[program.dtype] : null
    const difference = firstDifference(actual, expected, { tolerance, largest: LARGEST[program.dtype], exact })
    if (difference !== undefined) throw new Disagreement(executor, difference)
  }
}

async function traceOf(program: Program, executor: TestedExecutor | undefined): Promise<Trace> {
  try {
    const backend = executor === undefined ? openReference(program) : await executor.open(program)
    const trace = await runProgram(program, backend, openReference(program))
    await executor?.inspect?.(backend)
    return trace
  } catch (cause) {
    throw new Disagreement(executor, (cause as Error).message, { cause })
  }
}
