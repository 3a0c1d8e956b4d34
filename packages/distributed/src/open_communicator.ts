import {
  checkArguments,
  checkOptions,
  type OptionsOf,
  oneOf,
  optional,
  PATH,
  SECONDS,
} from '@cudnn-rnn/canonical/rules'
import type { Communicator } from '@cudnn-rnn/train'
import { CheckedCommunicator } from './checked_communicator.js'
import { CommunicatorError } from './communicator_error.js'
import { detectLauncher } from './launcher.js'
import { openMpiCommunicator } from './mpi/mpi_communicator.js'

const ENGINE = oneOf(['auto', 'mpi', 'nccl', 'none'])
const OPTIONS = {
  /** Every collective call must end within this time, or the job is ended; default 600, at most 2,000,000. */
  timeoutSeconds: optional(SECONDS),
  /**
   * The job is ended if a rank sends no heartbeat for this long while another waits for it; default 8. A thread of
   * the addon gives it, so that JavaScript may compute for longer: the process was stopped, or its host is dead.
   */
  silenceSeconds: optional(SECONDS),
  /**
   * The job is ended if JavaScript of a rank does not return to its event loop for this long while another waits for it. An
   * endless loop does so, and so does a longer computation without `await`. The default is 8, but 60 for a rank that has made
   * fewer than 32 calls, and never less than twice the longest such time of that rank.
   */
  busySeconds: optional(SECONDS),
  /** The MPI library to open, by name or path, and no other; default `CUDNN_RNN_MPI_LIBRARY`, or the launcher's. */
  library: optional(PATH),
}

interface CommunicatorOptions extends OptionsOf<typeof OPTIONS> {}

const DEFAULT_TIMEOUT_SECONDS = 600
const DEFAULT_SILENCE_SECONDS = 8
/** Least busy seconds of a rank that has made its first calls; a longer limit is learned. */
const LEAST_BUSY_SECONDS = 8

/**
 * Opens the communicator between the processes that a launcher started. 'auto' takes the engine of the launcher: MPI under
 * mpirun, mpiexec and srun, NCCL under torchrun and in a PyTorchJob; and 'none', a communicator of size 1, without a launcher
 * or if it started one process. 'nccl' under a launcher of MPI sums on the GPUs, and the ranks connect over MPI.
 *
 * MPI can be opened once per process. A process that ends with an error, or is ended, before `dispose` ends all ranks; one
 * that ends normally closes the communicator first.
 *
 * @throws CommunicatorError `ERR_COMMUNICATOR_UNAVAILABLE`, `ERR_WORLD_MISMATCH`, `ERR_COMMUNICATOR_OPENED`,
 *   `ERR_LAUNCHER_ENVIRONMENT`, `ERR_COMMUNICATOR`; TypeError `ERR_INVALID_ARGUMENT`, `ERR_UNKNOWN_OPTION`,
 *   `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openCommunicator } from '@cudnn-rnn/rnn'
 *
 * const world = await openCommunicator('none') // 'auto' under mpirun, srun or torchrun
 * const gradient = Float32Array.of(1, 2)
 * await world.allReduce(gradient)
 * console.log(world.engine, world.rank, world.size, gradient) // none 0 1 [1, 2]
 * await world.dispose()
 * ```
 */
export async function openCommunicator(
  engine: 'auto' | 'mpi' | 'nccl' | 'none' = 'auto',
  options: CommunicatorOptions = {},
): Promise<Communicator> {
  checkArguments('open communicator', { engine }, { engine: ENGINE })
  const given = checkOptions('open communicator', options, OPTIONS)
  const {
    timeoutSeconds = DEFAULT_TIMEOUT_SECONDS,
    silenceSeconds = DEFAULT_SILENCE_SECONDS,
    busySeconds = LEAST_BUSY_SECONDS,
    library,
  } = given
  const limits = { timeoutSeconds, silenceSeconds, busySeconds, learnsBusy: given.busySeconds === undefined }
  if (engine === 'none') return soleCommunicator('none: one process, as requested')
  const launcher = detectLauncher()
  if (engine === 'auto') {
    if (launcher === undefined) return soleCommunicator('none: no launcher has started this process')
    if (launcher.size === 1) return soleCommunicator(`none: ${launcher.name} has started one process`)
  }
  const chosen = engine === 'auto' ? launcher?.engine : engine
  if (chosen === 'mpi') return await openMpiCommunicator(launcher, { ...limits, library })
  if (launcher === undefined) {
    throw new CommunicatorError(
      'ERR_COMMUNICATOR_UNAVAILABLE',
      'Cannot open communicator as a launcher must have started this process, whose ranks NCCL connects: torchrun, a PyTorchJob, mpirun, mpiexec or srun. Current launcher is none',
    )
  }
  const { openNcclCommunicator } = await import('./nccl/nccl_communicator.js')
  const mpi = launcher.engine === 'mpi' ? await openMpiCommunicator(launcher, { ...limits, library }) : undefined
  return await openNcclCommunicator(launcher, { ...limits, mpi })
}

/** The communicator of one process: every call completes immediately. */
export function soleCommunicator(reason: string): CheckedCommunicator {
  return new CheckedCommunicator(
    { engine: 'none', reason, rank: 0, size: 1, localRank: 0, localSize: 1 },
    {
      async allReduce() {},
      async broadcast() {},
      allGather: async (bytes) => [bytes.slice()],
      async barrier() {},
      abort(text, code) {
        process.stderr.write(`cudnn-rnn: ${text}\n`)
        process.exit(code)
      },
      async close() {},
    },
  )
}
