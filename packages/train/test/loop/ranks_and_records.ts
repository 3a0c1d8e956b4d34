import { type LocalCommunicator, localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import type { Communicator } from '../../src/index.js'
import { SeveralRanks } from '../../src/loop/several_ranks.js'
import type { TrainingRecord } from '../../src/loop/training_saver.js'

export type Backend = ReturnType<typeof openReferenceBackend>

/** Runs `work` on ranks of this thread, each with a variable [2] of zeros. */
export async function over<Result>(
  size: number,
  work: (ranks: SeveralRanks, rank: number, backend: Backend, communicator: LocalCommunicator) => Promise<Result>,
) {
  return await Promise.allSettled(
    localCommunicators(size).map(async (communicator, rank) => {
      using backend = openReferenceBackend()
      const variables = [{ name: 'x', backend, value: backend.zeros([2]) }]
      const ranks = new SeveralRanks(communicator as unknown as Communicator, backend, variables, {})
      return await work(ranks, rank, backend, communicator)
    }),
  )
}

export const reasons = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
  outcomes.map((each) => (each.status === 'rejected' ? (each.reason as Error) : undefined))

export const record: TrainingRecord = {
  ...{ step: 3, optimizerStep: 3, position: null, best: null, skippedInARow: 0 },
  extra: ['a', 'b', 'c'],
}
