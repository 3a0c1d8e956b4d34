import { isBackendUnavailableError } from '@cudnn-rnn/backend'
import type { Nccl } from '@cudnn-rnn/cudnn'
import type { Communicator } from '@cudnn-rnn/train'
import { CheckedCommunicator } from '../checked_communicator.js'
import { CommunicatorError } from '../communicator_error.js'
import type { Launcher } from '../launcher.js'
import { TcpStar } from './tcp_star.js'

/** EX_TEMPFAIL of sysexits.h: starting again may help. */
const LOST_EXIT_CODE = 75

/** The ranks of a communicator of NCCL: their numbers, the exchange of small messages between them, and their end. */
interface Peers {
  readonly rank: number
  readonly size: number
  readonly localRank: number
  readonly localSize: number
  allGather(bytes: Uint8Array): Promise<Uint8Array[]>
  /** Ends this process; the launcher, or MPI, ends the others. */
  abort(reason: string, code: number): never
  /** Waits for all ranks. */
  close(): Promise<void>
}

/**
 * Opens NCCL: under torchrun or a PyTorchJob the ranks meet over TCP, under a launcher of MPI over `mpi`, which the
 * communicator takes over. Throws CommunicatorError; see `openCommunicator`.
 */
export async function openNcclCommunicator(
  launcher: Launcher,
  { timeoutSeconds, mpi }: { readonly timeoutSeconds: number; readonly mpi?: Communicator | undefined },
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Communicator> {
  const nccl = await openLibrary(launcher)
  const peers = mpi === undefined ? await peersByTcp(launcher, timeoutSeconds, environment) : peersByMpi(mpi)
  const { rank, size, localRank, localSize } = peers
  let isOpen = true
  /** A rank that is missing, or an error of NCCL, ends this process. */
  const call = async <Result>(name: string, run: () => Promise<Result>): Promise<Result> => {
    try {
      return await run()
    } catch (cause) {
      const { call: native, statusName, message } = cause as { call?: string; statusName?: string; message: string }
      const why =
        statusName === 'TIMEOUT' ? `every rank must come to it within ${timeoutSeconds} s` : (native ?? message)
      const detail = statusName === undefined || statusName === 'TIMEOUT' ? '' : ` failed: ${statusName}`
      isOpen = false
      return peers.abort(`Cannot complete ${name} as ${why}${detail}`, LOST_EXIT_CODE)
    }
  }
  const id = await call('openCommunicator', () => peers.allGather(rank === 0 ? nccl.newId() : new Uint8Array(0)))
  const communicator = await call('openCommunicator', () =>
    nccl.open({ device: localRank, rank, size, id: id[0] as Uint8Array, timeoutSeconds }),
  )
  const reason = `nccl: NCCL ${nccl.version} (${nccl.file}), as ${launcher.name} has started ${size} processes`
  /** Calls begin when the one before has ended: NCCL and the messages keep one order. */
  let last: Promise<unknown> = Promise.resolve()
  function inOrder<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = last.then(run)
    last = result.catch(() => {})
    return result
  }
  const disposeAtEnd = (code: number) => {
    // The process ends normally, and all ranks may do so.
    if (isOpen && code === 0) void world.dispose().catch(() => {})
  }
  process.on('beforeExit', disposeAtEnd)
  const world = new CheckedCommunicator(
    { engine: 'nccl', reason, rank, size, localRank, localSize },
    {
      allReduce: (array, op, wire) => inOrder(() => call('allReduce', () => communicator.allReduce(array, op, wire))),
      tensorSum(backend) {
        const calls = communicator.streamCallsOf(backend)
        if (calls === undefined) return undefined
        return (tensors, { wire } = {}) =>
          inOrder(async () => {
            // Throws for tensors that it cannot sum, before anything is sent.
            const summed = calls.sum(tensors, wire)
            // The device completes it later, and nothing of this thread waits for that.
            void call('allReduce', () => summed)
          })
      },
      broadcast: (bytes, root) =>
        inOrder(async () => {
          const all = await call('broadcast', () => peers.allGather(rank === root ? bytes : new Uint8Array(0)))
          bytes.set(all[root] as Uint8Array)
        }),
      allGather: (bytes) => {
        const own = bytes.slice()
        return inOrder(() => call('allGather', () => peers.allGather(own)))
      },
      barrier: () => inOrder(async () => void (await call('barrier', () => peers.allGather(new Uint8Array(0))))),
      abort(text, code) {
        isOpen = false
        return peers.abort(text, code)
      },
      close: () =>
        inOrder(async () => {
          await call('dispose', () => peers.allGather(new Uint8Array(0)))
          isOpen = false
          process.off('beforeExit', disposeAtEnd)
          await communicator.close()
          await peers.close()
        }),
    },
  )
  return world
}

/** The ranks of torchrun or a PyTorchJob. */
async function peersByTcp(
  { rank, size }: Launcher,
  timeoutSeconds: number,
  environment: NodeJS.ProcessEnv,
): Promise<Peers> {
  const localRank = numberOf(environment, 'LOCAL_RANK', 0)
  const localSize = numberOf(environment, 'LOCAL_WORLD_SIZE', 1)
  const star = await TcpStar.open({ rank, size, timeoutSeconds, ...meetingPlace(environment) })
  return {
    ...{ rank, size, localRank, localSize },
    allGather: (bytes) => star.allGather(bytes),
    abort(text, code) {
      process.stderr.write(`cudnn-rnn: rank ${rank} of ${size} (process ${process.pid}): ${text}\n`)
      process.exit(code)
    },
    async close() {
      star.close()
    },
  }
}

function peersByMpi(mpi: Communicator): Peers {
  const { rank, size, localRank, localSize } = mpi
  return {
    ...{ rank, size, localRank, localSize },
    allGather: (bytes) => mpi.allGather(bytes),
    abort: (reason, code) => mpi.abort(reason, code),
    close: () => mpi.dispose(),
  }
}

async function openLibrary(launcher: Launcher): Promise<Nccl> {
  try {
    // Loaded here: most processes have no GPU.
    const { openNccl } = await import('@cudnn-rnn/cudnn')
    return openNccl()
  } catch (cause) {
    if (!isBackendUnavailableError(cause)) throw cause
    const attempts = cause.attempts.map(({ name, reason }) => `${name}: ${reason}`)
    throw new CommunicatorError(
      'ERR_COMMUNICATOR_UNAVAILABLE',
      `Cannot open communicator as ${launcher.name} has started ${launcher.size} processes, which NCCL connects, and it cannot be used here: ${attempts.join('; ')}. ${cause.advice} On hosts without GPUs start the processes by mpirun, mpiexec or srun, which bring MPI`,
      { attempts, cause },
    )
  }
}

/** The address that the launcher names; its own port is in use by the launcher. */
function meetingPlace(environment: NodeJS.ProcessEnv) {
  const host = environment['MASTER_ADDR'] || '127.0.0.1'
  const restarts = numberOf(environment, 'TORCHELASTIC_RESTART_COUNT', 0)
  const port = numberOf(
    environment,
    'CUDNN_RNN_RENDEZVOUS_PORT',
    numberOf(environment, 'MASTER_PORT', 29_500) + 1 + restarts,
  )
  return { host, port, job: `${environment['TORCHELASTIC_RUN_ID'] ?? ''}/${restarts}` }
}

function numberOf(environment: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const text = environment[name] ?? ''
  if (text === '') return otherwise
  if (/^\d+$/.test(text)) return Number(text)
  throw new CommunicatorError(
    'ERR_LAUNCHER_ENVIRONMENT',
    `Cannot open communicator as the environment variable ${name} must be an integer >= 0: current value is ${JSON.stringify(text.slice(0, 40))}`,
  )
}
