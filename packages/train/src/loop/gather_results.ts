import { checkArguments, codedRangeError, FUNCTION, fields, thrownMessage } from '@cudnn-rnn/canonical/rules'
import type { Communicator } from './communicator.js'

/** A failed rank waits this long for the others to reach the same call, then ends them. */
const FAILURE_SECONDS = 5

/**
 * Runs `work` on every rank and collects the results, so that all ranks go on by the same values. If it fails, that
 * rank rejects with its error and the others with `ERR_RANK_FAILED`. So does a rank that fails as the first rank does, with
 * its own error as `cause`: a mistake that all ranks make is then reported once.
 *
 * @param work its result must be JSON
 * @returns the results in the order of ranks
 * @throws the error of this rank's `work`; RangeError `ERR_RANK_FAILED`; TypeError `ERR_INVALID_ARGUMENT`
 * @example
 * ```ts
 * import { openCommunicator } from '@cudnn-rnn/rnn'
 * import { gatherResults } from '@cudnn-rnn/rnn/train'
 *
 * const world = await openCommunicator('none')
 * console.log(await gatherResults(world, () => 10 * world.rank)) // [0]
 * await world.dispose()
 * ```
 */
export async function gatherResults<Result>(
  communicator: Communicator,
  work: () => Promise<Result> | Result,
): Promise<Result[]> {
  const rules = { communicator: fields({ allGather: FUNCTION }), work: FUNCTION }
  checkArguments('gather results', { communicator, work }, rules)
  const own = await outcomeOf(work)
  const text = JSON.stringify('error' in own ? { failed: messageOf(own.error) } : own)
  const gathered = communicator.allGather(new TextEncoder().encode(text))
  const all = await ('error' in own ? endIfLate(communicator, own.error, gathered) : gathered)
  const outcomes = all.map(
    (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as { result: Result; failed?: string },
  )
  const isAsFirst = communicator.rank > 0 && 'error' in own && outcomes[0]?.failed === messageOf(own.error)
  if ('error' in own && !isAsFirst) throw own.error
  return outcomes.map(({ result, failed }, rank) => {
    if (failed === undefined) return result
    const fields = { rank, ...('error' in own && { cause: own.error }) }
    throw codedRangeError('ERR_RANK_FAILED', `Cannot go on as rank ${rank} failed: ${failed}`, fields)
  })
}

/** Waits for a call of a rank that has failed; ends the job if the others do not reach that call in time. */
async function endIfLate<Result>(communicator: Communicator, error: unknown, call: Promise<Result>): Promise<Result> {
  const late = setTimeout(() => communicator.abort(messageOf(error)), FAILURE_SECONDS * 1000)
  try {
    return await call
  } finally {
    clearTimeout(late)
  }
}

async function outcomeOf<Result>(
  work: () => Promise<Result> | Result,
): Promise<{ readonly result: Result } | { readonly error: unknown }> {
  try {
    return { result: await work() }
  } catch (error) {
    return { error }
  }
}

function messageOf(error: unknown): string {
  try {
    if (error instanceof Error) return `${error.name}: ${error.message}`
  } catch {
    // Getters of a caller's error.
  }
  return thrownMessage(error)
}
