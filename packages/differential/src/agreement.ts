import { firstDifference } from './compare_traces.js'
import { type Contestant, openReference } from './executors.js'
import type { Program } from './program.js'
import { runProgram, type Trace } from './run_program.js'

/**
 * Error divided by the larger of 1 and the largest expected magnitude, both executors in the program's own type: what
 * single passes differ by (packages/cpu and packages/cudnn's conformance tests), times what a program's updates make of it.
 */
const TOLERANCES = { float32: 5e-5, float64: 1e-10 } as const

/** An executor that does not do what the others do. */
export class Disagreement extends Error {
  /** Undefined for the reference itself. */
  readonly contestant: Contestant | undefined

  constructor(contestant: Contestant | undefined, problem: string, options?: ErrorOptions) {
    super(`${contestant?.name ?? 'reference'}: ${problem}`, options)
    this.contestant = contestant
  }
}

/** Runs a program on the reference and on every contestant. Throws {@link Disagreement}. */
export async function expectAgreement(program: Program, contestants: readonly Contestant[]): Promise<void> {
  const expected = await traceOf(program, undefined)
  const exact = program.dtype === 'float32' ? await traceOf({ ...program, dtype: 'float64' }, undefined) : undefined
  for (const contestant of contestants) {
    const actual = await traceOf(program, contestant)
    const isComparable = contestant.sharesMasks || program.dropout === 0
    const tolerance = isComparable ? TOLERANCES[program.dtype] : null
    const difference = firstDifference(actual, expected, { tolerance, exact })
    if (difference !== undefined) throw new Disagreement(contestant, difference)
  }
}

async function traceOf(program: Program, contestant: Contestant | undefined): Promise<Trace> {
  try {
    const backend = contestant === undefined ? openReference(program) : await contestant.open(program)
    const trace = await runProgram(program, backend, openReference(program))
    await contestant?.inspect?.(backend)
    return trace
  } catch (cause) {
    throw new Disagreement(contestant, (cause as Error).message, { cause })
  }
}
