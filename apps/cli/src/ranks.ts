import { availableParallelism } from 'node:os'
import {
  type Backend,
  type BackendName,
  type Communicator,
  hasErrorCode,
  openBackend,
  openCommunicator,
  type TrainingCheckpoints,
} from '@cudnn-rnn/rnn'
import { gatherResults, type RankSeconds } from '@cudnn-rnn/rnn/train'
import { colors } from './colors.js'
import { EXIT_CODES } from './exit_codes.js'

/** Errors that every rank rejects with; the first reports them. */
const SHARED_ERRORS = ['ERR_RANK_FAILED', 'ERR_RANKS_DIFFER', 'ERR_RANKS_DIVERGED', 'ERR_NON_FINITE_GRADIENTS'] as const

/**
 * Runs a command that trains over all processes that mpirun, mpiexec or srun has started, or over this one. The first rank
 * writes files and prints; another rank prints its own error only.
 */
export async function overRanks(work: (world: Communicator) => Promise<void>): Promise<void> {
  await using world = await openCommunicator('auto')
  try {
    await work(world)
  } catch (error) {
    const isShared = SHARED_ERRORS.some((code) => hasErrorCode(error, code))
    if (world.rank === 0 || !isShared) throw error
    process.exitCode = EXIT_CODES.failed
  }
}

/**
 * Runs `work` on every rank, without calls between ranks; if it fails on one, it fails on all.
 *
 * @param world undefined for one process, here and below
 */
export async function onEach<Result>(
  world: Communicator | undefined,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  if (world === undefined) return await work()
  const results: Result[] = []
  await gatherResults(world, async () => {
    results.push(await work())
    return null
  })
  return (results as [Result])[0]
}

/** Runs `work` on the first rank; every rank gets its result, which must be JSON. */
export async function onFirst<Result>(
  world: Communicator | undefined,
  work: () => Promise<Result> | Result,
): Promise<Awaited<Result>> {
  if (world === undefined) return await work()
  const [result] = await gatherResults(world, async () => (world.rank === 0 ? await work() : null))
  return result as Awaited<Result>
}

/** Locks the directory of a run and begins the run in it, on the first rank. */
export async function beginOnFirst(
  world: Communicator | undefined,
  checkpoints: TrainingCheckpoints,
  begin: () => Promise<void>,
): Promise<AsyncDisposable | undefined> {
  let held: AsyncDisposable | undefined
  await onFirst(world, async () => {
    const lock = await checkpoints.lock()
    try {
      await begin()
    } catch (error) {
      await lock[Symbol.asyncDispose]()
      throw error
    }
    held = lock
    return null
  })
  return held
}

/** The executor of a rank, with its share of the host's cores, or the GPU of its number on the host. */
export async function openBackendOfRank(name: string, world: Communicator | undefined): Promise<Backend> {
  const { localRank, localSize } = world ?? { localRank: 0, localSize: 1 }
  if (localSize === 1) return await openBackend(name as BackendName)
  const threads = Math.max(1, Math.floor(availableParallelism() / localSize))
  return await openBackend(name as BackendName, { threads, device: localRank })
}

/** How fast each rank was; `perStep` is what all ranks together train on in a step. Empty for one process. */
export function rankLines(ranks: readonly RankSeconds[] | undefined, perStep: number, unit: string): string[] {
  return rankSpeeds(ranks, perStep).map(({ rank, perSecond, reducing }) => {
    const rate = Math.round(perSecond).toLocaleString('en-US')
    return `${colors.bold(`Rank ${rank}`.padEnd(10))}${rate} ${unit}/s, ${(100 * reducing).toFixed(1)} % of the time in the all-reduce`
  })
}

/** Speed of each rank while it computes, and its share of the time in the all-reduce. */
export function rankSpeeds(ranks: readonly RankSeconds[] | undefined, perStep: number) {
  const size = ranks?.length ?? 0
  return (ranks ?? []).map(({ steps, computing, reducing }, rank) => {
    const own = Math.floor((perStep * (rank + 1)) / size) - Math.floor((perStep * rank) / size)
    const share = reducing / Math.max(Number.MIN_VALUE, computing + reducing)
    return { rank, perSecond: computing === 0 ? 0 : (own * steps) / computing, reducing: share }
  })
}
