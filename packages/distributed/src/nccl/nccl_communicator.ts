import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'
import { inspect } from 'node:util'
import type { Nccl } from '@cudnn-rnn/cudnn'
import { BackendUnavailableError } from '@cudnn-rnn/ops'
import type { Communicator } from '@cudnn-rnn/train'
import { CheckedCommunicator, type Limits, type Ranks } from '../checked_communicator.js'
import { CommunicatorError } from '../communicator_error.js'
import { environmentNumber, type Launcher } from '../launcher.js'
import type { MpiCommunicator } from '../mpi/mpi_communicator.js'
import { CallProgress } from './call_progress.js'
import { type HeartbeatOptions, Heartbeats, type Trouble } from './heartbeats.js'
import { TcpStar } from './tcp_star.js'

/** EX_TEMPFAIL of sysexits.h: starting again may help. */
const LOST_EXIT_CODE = 75

/** NCCL may notice an error of another rank before that rank's connection has closed. */
const CAUSE_MILLISECONDS = 500

/** The watchdog of MPI queries all ranks at the deadline, and ends the process before NCCL's own deadline passes. */
const ROLL_CALL_SECONDS = 5

/** The ranks of a communicator of NCCL: their numbers, the exchange of small messages between them, and their end. */
interface Peers extends Ranks {
  allGather(bytes: Uint8Array): Promise<Uint8Array[]>
  /** The result, or, if a rank is lost or fails before it, an Error that names that rank. */
  orFailed<Result>(result: Promise<Result>): Promise<Result>
  /** A call of NCCL, which is not an exchange of messages. */
  deviceCall<Result>(run: () => Promise<Result>): Promise<Result>
  /** Names the ranks that are not in a call. Rejects as `orFailed`. */
  missingRanks?(sequence: number, call: string): Promise<string>
  /**
   * Ends this process; the launcher, or MPI, ends the others.
   * @param cause for the messages of the other ranks; default `reason`, with the name of this rank
   */
  abort(reason: string, code: number, cause?: string): never
  /** Waits for all ranks. */
  close(): Promise<void>
}

interface NcclOptions extends Limits {
  readonly mpi?: MpiCommunicator | undefined
}

/**
 * Opens NCCL: under torchrun or a PyTorchJob the ranks connect over TCP, under a launcher of MPI over `mpi`, which the
 * communicator takes over. Throws CommunicatorError; see `openCommunicator`.
 */
export async function openNcclCommunicator(
  launcher: Launcher,
  options: NcclOptions,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Communicator> {
  const nccl = await openLibrary(launcher)
  const { timeoutSeconds, mpi } = options
  const progress = new CallProgress()
  const peers = mpi === undefined ? await peersByTcp(launcher, options, progress, environment) : peersByMpi(mpi)
  const { rank, size, localRank, localSize } = peers
  let isOpen = true
  /** A rank that is missing, or an error of NCCL, ends this process. */
  const call = async <Result>(name: string, run: () => Promise<Result>): Promise<Result> => {
    const sequence = progress.begin(name)
    try {
      return await peers.orFailed(run())
    } catch (error) {
      const { call: native, statusName, message } = error as { call?: string; statusName?: string; message: string }
      const cannot = `Cannot complete ${name} as `
      isOpen = false
      if (statusName === 'TIMEOUT') {
        const why = await lateRanks(peers, sequence, name, timeoutSeconds)
        return peers.abort(cannot + why, LOST_EXIT_CODE, why)
      }
      if (native === undefined) return peers.abort(cannot + message, LOST_EXIT_CODE, message)
      const lost = await causeOf(peers)
      return peers.abort(`${cannot}${native} failed: ${statusName}${lost}`, LOST_EXIT_CODE)
    } finally {
      progress.end(sequence)
    }
  }
  const deviceCall = <Result>(name: string, run: () => Promise<Result>) => call(name, () => peers.deviceCall(run))
  const id = await call('openCommunicator', () => peers.allGather(rank === 0 ? nccl.newId() : new Uint8Array(0)))
  const deviceSeconds = timeoutSeconds + (mpi === undefined ? 0 : ROLL_CALL_SECONDS)
  const communicator = await deviceCall('openCommunicator', () =>
    nccl.open({ device: localRank, rank, size, id: id[0] as Uint8Array, timeoutSeconds: deviceSeconds }),
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
      allReduce: (array, op, wire) =>
        inOrder(() => deviceCall('allReduce', () => communicator.allReduce(array, op, wire))),
      tensorSum(backend) {
        const calls = communicator.streamCallsOf(backend)
        if (calls === undefined) return undefined
        return (tensors, { wire } = {}) =>
          inOrder(async () => {
            // Throws for tensors that it cannot sum, before anything is sent.
            const summed = calls.sum(tensors, wire)
            // The device completes it later, and nothing of this thread waits for that.
            void deviceCall('allReduce', () => summed)
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

/** The ranks that are not in a call at its deadline, or if another rank has named them, its message. */
async function lateRanks(peers: Peers, sequence: number, call: string, timeoutSeconds: number): Promise<string> {
  try {
    const missing = await peers.missingRanks?.(sequence, call)
    return `every rank must come to it within ${timeoutSeconds} s${missing ? `: ${missing}` : ''}`
  } catch (error) {
    return (error as Error).message
  }
}

/** The rank that is lost, if this is known within a moment, for a message. */
async function causeOf(peers: Peers): Promise<string> {
  const late = new Promise<string>((resolve) => setTimeout(resolve, CAUSE_MILLISECONDS, ''))
  return await peers.orFailed(late).catch(({ message }: Error) => ` (${message})`)
}

/** The ranks of torchrun or a PyTorchJob. */
async function peersByTcp(
  { rank, size }: Launcher,
  { timeoutSeconds, silenceSeconds, busySeconds, learnsBusy }: NcclOptions,
  progress: CallProgress,
  environment: NodeJS.ProcessEnv,
): Promise<Peers> {
  const localRank = numberOf(environment, 'LOCAL_RANK', 0)
  const localSize = numberOf(environment, 'LOCAL_WORLD_SIZE', 1)
  const { host, port, job } = rendezvousAddress(environment)
  const listenOn = await listeningAddress(host, localSize === size)
  const star = await TcpStar.open({
    ...{ rank, size, timeoutSeconds, host, port, listenOn, job, progress: () => progress.current },
  })
  const own = star.name(rank)
  let uncaught: unknown
  const rememberUncaught = (error: unknown) => {
    uncaught = error
  }
  // The others learn the cause; if they wait in no call, nothing is printed.
  const leave = (code: number) => {
    const [firstLine] = uncaught === undefined ? [] : inspect(uncaught).split('\n')
    star.fail(
      `${own}: it ended with exit code ${code} before dispose()${firstLine === undefined ? '' : `: ${firstLine}`}`,
    )
  }
  process.on('uncaughtExceptionMonitor', rememberUncaught)
  process.on('exit', leave)
  const heartbeats = await openHeartbeats(star, {
    ...{ rank, size, host, listenOn, job, timeoutSeconds, silenceSeconds, busySeconds, learnsBusy, progress },
  })
  return {
    ...{ rank, size, localRank, localSize },
    allGather: (bytes) => star.allGather(bytes),
    orFailed: (result) => star.orFailed(result),
    deviceCall: (run) => run(),
    missingRanks: (sequence, call) => star.missingRanks(sequence, call),
    abort(text, code, cause = `${own}: ${text}`) {
      star.fail(cause)
      process.stderr.write(`cudnn-rnn: ${own} (process ${process.pid}): ${text}\n`)
      process.exit(code)
    },
    async close() {
      process.off('uncaughtExceptionMonitor', rememberUncaught)
      process.off('exit', leave)
      star.close()
      await heartbeats.close()
    },
  }
}

/** Opened by all ranks together. */
async function openHeartbeats(
  star: TcpStar,
  {
    progress,
    ...options
  }: Omit<HeartbeatOptions, 'port' | 'calls' | 'onTrouble'> & { readonly progress: CallProgress },
): Promise<Heartbeats> {
  const { rank, silenceSeconds, busySeconds } = options
  const onTrouble = ({ rank: other, state, seconds }: Trouble) => {
    if (state === 'garbled') star.fail(`${star.name(other)} has sent a malformed heartbeat`)
    const { pending, seconds: waited } = progress.current
    // This process does not wait for it.
    if (other === rank || pending.length === 0) return
    if (state === 'silent') {
      star.fail(
        `${star.name(other)} has sent no heartbeat for ${silenceSeconds} s: its process was stopped, or its host is dead`,
      )
    } else if (state === 'busy' && waited > busySeconds) {
      star.fail(
        `${star.name(other)} computes since ${seconds.toFixed(0)} s without a return to its event loop. An endless loop does so; where it is none, set busySeconds`,
      )
    }
  }
  const calls = () => progress.current.sequence
  const first = rank === 0 ? new Heartbeats({ ...options, port: 0, calls, onTrouble }) : undefined
  const own = new TextEncoder().encode(String((await first?.port) ?? 0))
  const [port] = await star.allGather(own).catch((cause: Error) => {
    throw new CommunicatorError('ERR_COMMUNICATOR', `Cannot open communicator as ${cause.message}`, { cause })
  })
  const heartbeats =
    first ?? new Heartbeats({ ...options, port: Number(new TextDecoder().decode(port)), calls, onTrouble })
  await star.orFailed(heartbeats.port).catch(async (cause: Error) => {
    await heartbeats.close()
    throw new CommunicatorError(
      'ERR_COMMUNICATOR',
      `Cannot open communicator as the heartbeats of the ranks cannot be exchanged: ${cause.message}`,
      { cause },
    )
  })
  return heartbeats
}

function peersByMpi(mpi: MpiCommunicator): Peers {
  const { rank, size, localRank, localSize } = mpi
  return {
    ...{ rank, size, localRank, localSize },
    allGather: (bytes) => mpi.allGather(bytes),
    // MPI ends this process then.
    orFailed: (result) => result,
    deviceCall: (run) => mpi.deviceCall(run),
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
    if (!(cause instanceof BackendUnavailableError)) throw cause
    const attempts = cause.attempts.map(({ name, reason }) => `${name}: ${reason}`)
    throw new CommunicatorError(
      'ERR_COMMUNICATOR_UNAVAILABLE',
      `Cannot open communicator as ${launcher.name} has started ${launcher.size} processes, which NCCL connects, and it cannot be used here: ${attempts.join('; ')}. ${cause.advice} On hosts without GPUs start the processes by mpirun, mpiexec or srun, which bring MPI`,
      { attempts, cause },
    )
  }
}

/** The address that the launcher names; its own port is in use by the launcher. */
function rendezvousAddress(environment: NodeJS.ProcessEnv) {
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
  return environment[name] ? environmentNumber(environment, name, 0) : otherwise
}

/**
 * The address at which the first rank listens: the one that `host`, MASTER_ADDR, names. Undefined, for all addresses, if it names
 * none of this host (behind an address translation), or the loopback interface while other ranks are on other hosts: a
 * PyTorchJob sets `localhost` for its master.
 */
export async function listeningAddress(host: string, isOneHost: boolean): Promise<string | undefined> {
  const { address } = await lookup(host).catch(() => ({ address: '' }))
  if (/^127\.|^::1$/.test(address)) return isOneHost ? address : undefined
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses)
  return own.some((each) => each.address === address) ? address : undefined
}
