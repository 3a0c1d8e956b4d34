import type { CudnnBackendOptions } from '@cudnn-rnn/cudnn'
import { DeviceSession, loadAddon, openCudaLibraries } from '@cudnn-rnn/cudnn/validation'
import type { Report } from './outcome.js'

/** Inputs of a group of checks. */
export interface CheckContext {
  readonly options: CudnnBackendOptions
  /** Sizes that the CUDA emulator finishes in seconds. */
  readonly isQuick: boolean
  readonly report: Report
  /** performance.now() at which the group should be over; longer measurements stop there and say so. */
  readonly deadline: number
  /** Argument of a group that is run several times. */
  readonly argument: string
  /** The folder of results. */
  readonly folder: string
  /**
   * Runs one item of the section, unless an earlier process of this run has begun it: a section that was ended is
   * started again behind the item that it ended in. Ends the process if the item lost the device.
   */
  readonly once: (item: string, run: () => Promise<void> | void) => Promise<void>
}

export type CheckGroup = (context: CheckContext) => Promise<void>

/** A separate session on the device, without the executor around it. */
export async function openSession({ options }: Pick<CheckContext, 'options'>): Promise<DeviceSession> {
  const loaded = loadAddon()
  if (loaded.addon === undefined) throw new Error(loaded.attempts.join('; '))
  const { libraries, attempts } = openCudaLibraries(loaded.addon, options.libraryDir)
  if (libraries === undefined) throw new Error(JSON.stringify(attempts))
  return DeviceSession.open(loaded.addon, libraries, options.device ?? 0)
}

/** Runs `use` with a session, and closes it. */
export async function withSession<Result>(
  context: Pick<CheckContext, 'options'>,
  use: (session: DeviceSession) => Promise<Result>,
): Promise<Result> {
  const session = await openSession(context)
  try {
    return await use(session)
  } finally {
    await session.close()
  }
}

/** s·sin(w·(k+1)): values without a pattern that a mistake could hit by chance. */
export function wave(count: number, scale: number, pace = 0.37): Float64Array {
  const numbers = new Float64Array(count)
  for (let k = 0; k < count; k++) numbers[k] = scale * Math.sin(pace * (k + 1))
  return numbers
}

/** The largest difference, divided by the larger of 1 and the largest expected magnitude; NaN if one side is NaN. */
export function distance(actual: ArrayLike<number>, expected: ArrayLike<number>): number {
  if (actual.length !== expected.length) return Number.POSITIVE_INFINITY
  let magnitude = 1
  let worst = 0
  for (let k = 0; k < actual.length; k++) {
    magnitude = Math.max(magnitude, Math.abs(expected[k]))
    const difference = Math.abs(actual[k] - expected[k])
    if (Number.isNaN(difference)) return Number.NaN
    worst = Math.max(worst, difference)
  }
  return worst / magnitude
}
