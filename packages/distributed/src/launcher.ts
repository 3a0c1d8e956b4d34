import { checkArguments, OBJECT } from '@cudnn-rnn/canonical/rules'
import { CommunicatorError } from './communicator_error.js'

/** The program that started this process together with others, as its environment variables say. */
export type Launcher = {
  readonly name: string
  /** The engine whose library works under it. */
  readonly engine: 'mpi' | 'nccl'
  readonly rank: number
  readonly size: number
  /** What to do if an MPI library sees fewer processes. */
  readonly remedy: string
}

type Environment = Readonly<Record<string, string | undefined>>

interface Row extends Pick<Launcher, 'name' | 'engine' | 'remedy'> {
  /** Variables of rank and size; both are set by this launcher alone. */
  readonly rank: string
  readonly size: string
  /** Another variable that must be set. */
  readonly also?: string
}

const SAME_MPI =
  'Start with the mpirun or mpiexec of the same installation, or name its library in CUDNN_RNN_MPI_LIBRARY'
const NO_MPI = 'It does not start MPI processes: use mpirun, mpiexec or srun'

/**
 * In the order in which they are asked: one launcher may start another, and a batch script of Slurm leaves its variables to
 * everything that it runs, except a step's.
 */
const LAUNCHERS: readonly Row[] = [
  {
    name: 'mpirun of Open MPI',
    engine: 'mpi',
    rank: 'OMPI_COMM_WORLD_RANK',
    size: 'OMPI_COMM_WORLD_SIZE',
    remedy: SAME_MPI,
  },
  { name: 'mpiexec of MPICH', engine: 'mpi', rank: 'PMI_RANK', size: 'PMI_SIZE', remedy: SAME_MPI },
  {
    name: 'torchrun',
    engine: 'nccl',
    rank: 'RANK',
    size: 'WORLD_SIZE',
    also: 'TORCHELASTIC_RUN_ID',
    remedy: NO_MPI,
  },
  {
    name: 'srun',
    engine: 'mpi',
    rank: 'SLURM_PROCID',
    size: 'SLURM_STEP_NUM_TASKS',
    remedy: 'Start with srun --mpi=pmix for Open MPI and with --mpi=pmi2 for MPICH',
  },
  { name: 'PyTorchJob', engine: 'nccl', rank: 'RANK', size: 'WORLD_SIZE', remedy: NO_MPI },
]

/**
 * The launcher of this process: mpirun, mpiexec (also within Kubeflow's MPIJob), srun, torchrun, PyTorchJob.
 *
 * @returns undefined if the process was started alone.
 * @throws CommunicatorError `ERR_LAUNCHER_ENVIRONMENT`
 * @example
 * ```ts
 * import { detectLauncher } from '@cudnn-rnn/rnn/distributed'
 *
 * const launcher = detectLauncher({ OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '4' })
 * console.log(launcher?.engine, launcher?.rank, launcher?.size) // mpi 1 4
 * console.log(detectLauncher({})) // undefined
 * ```
 */
export function detectLauncher(environment: Environment = process.env): Launcher | undefined {
  checkArguments('detect the launcher', { environment }, { environment: OBJECT })
  const row = LAUNCHERS.find(({ rank, size, also }) =>
    [rank, size, also].every((name) => name === undefined || textOf(environment, name) !== ''),
  )
  if (row === undefined) return undefined
  const { name, engine, remedy } = row
  const size = environmentNumber(environment, row.size, 1)
  const rank = environmentNumber(environment, row.rank, 0, size - 1)
  return { name, engine, remedy, rank, size }
}

/** The integer of a variable. Throws CommunicatorError `ERR_LAUNCHER_ENVIRONMENT`. */
export function environmentNumber(
  environment: Environment,
  name: string,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number {
  const text = textOf(environment, name)
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least && value <= most) return value
  const range = most === Number.MAX_SAFE_INTEGER ? `an integer >= ${least}` : `an integer in ${least}..${most}`
  throw new CommunicatorError(
    'ERR_LAUNCHER_ENVIRONMENT',
    `Cannot open communicator as the environment variable ${name} must be ${range}: current value is ${JSON.stringify(text.slice(0, 40))}`,
  )
}

function textOf(environment: Environment, name: string): string {
  return String(environment[name] ?? '')
}
