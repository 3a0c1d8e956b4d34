import { inspect } from 'node:util'
import { HostBackend, pinBuffer } from '@cudnn-rnn/ops/executor'
import type { ReduceOperation } from '@cudnn-rnn/train'
import { CheckedCommunicator, type Limits } from '../checked_communicator.js'
import { CommunicatorError } from '../communicator_error.js'
import type { Launcher } from '../launcher.js'
import { loadAddon } from '../load_addon.js'
import { mpiLibraries } from './mpi_libraries.js'
import type { NativeAddon, NativeFailure } from './native_addon.js'

/** The order of `ReduceKind` in native/mpi/src/world.h. */
const REDUCTIONS: readonly ReduceOperation[] = ['sum', 'min', 'max']

/** EX_SOFTWARE: a process ended with code 0 and without `dispose` while other ranks went on. */
const LEFT_EXIT_CODE = 70

/** The event loop sends a heartbeat this often. */
const BEAT_MILLISECONDS = 500

const INSTALL =
  'Install one (Debian, Ubuntu: apt-get install openmpi-bin or mpich; Fedora: dnf install openmpi; macOS: brew install open-mpi) or name its library in CUDNN_RNN_MPI_LIBRARY'

/** The ranks of MPI, whose watchdog also waits for calls of NCCL. */
export class MpiCommunicator extends CheckedCommunicator {
  readonly #addon: NativeAddon

  constructor(addon: NativeAddon, ...given: ConstructorParameters<typeof CheckedCommunicator>) {
    super(...given)
    this.#addon = addon
  }

  /** A call of NCCL, which has the limits of a call of MPI: its ranks are named if they are exceeded. */
  async deviceCall<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#addon.beginDeviceCall()
    try {
      return await run()
    } finally {
      this.#addon.endDeviceCall()
    }
  }
}

/** Opens MPI. Throws CommunicatorError; see `openCommunicator`. */
export async function openMpiCommunicator(
  launcher: Launcher | undefined,
  { library, ...limits }: Limits & { readonly library: string | undefined },
): Promise<MpiCommunicator> {
  const loaded = loadAddon()
  if (loaded.addon === undefined) {
    throw new CommunicatorError(
      'ERR_COMMUNICATOR_UNAVAILABLE',
      `Cannot open communicator as the addon of MPI must be installed: ${loaded.attempts.join('; ')}. It is an optional dependency, for Linux and macOS; in the repository, npm run build:native builds it`,
      { attempts: loaded.attempts },
    )
  }
  const { addon } = loaded
  const named = library ?? (process.env['CUDNN_RNN_MPI_LIBRARY'] || undefined)
  const libraries = named === undefined ? mpiLibraries(launcher) : [named]
  let world: Awaited<ReturnType<NativeAddon['open']>>
  try {
    world = await addon.open({ ...limits, libraries, expectedSize: launcher?.size ?? 0 })
  } catch (cause) {
    throw openingError(cause as NativeFailure, launcher)
  }
  const started =
    launcher === undefined ? 'opened without a launcher' : `as ${launcher.name} has started ${world.size} processes`
  const reason = `mpi: ${world.version} (${world.library}), ${started}`
  const { rank, size, localRank, localSize } = world
  let isOpen = true
  const disposeAtEnd = (code: number) => {
    // The process ends normally, and all ranks may do so.
    if (isOpen && code === 0) void communicator.dispose().catch(() => {})
  }
  /** Until a sum of tensors is queued, once its executor has computed them. Later calls wait for it: all ranks keep one order. */
  let filling: Promise<void> | undefined
  let uncaught: { readonly error: unknown } | undefined
  const rememberUncaught = (error: unknown) => {
    uncaught = { error }
  }
  const abortAtExit = (code: number) => {
    if (!isOpen || (code === 0 && filling === undefined && addon.closeAtExit())) return
    const how = code === 0 ? 'it left while a call was pending' : `it ended with exit code ${code} before dispose()`
    // Node.js prints an uncaught error after this event, which no process survives.
    const why = uncaught === undefined ? '' : `\n${inspect(uncaught.error)}`
    addon.abort(`${how}. All ranks are ended${why}`, code || LEFT_EXIT_CODE)
  }
  const beat = setInterval(() => addon.beat(), BEAT_MILLISECONDS).unref()
  addon.beat()
  process.on('uncaughtExceptionMonitor', rememberUncaught)
  process.on('beforeExit', disposeAtEnd)
  process.on('exit', abortAtExit)
  const call = async <Result>(name: string, run: () => Promise<Result>): Promise<Result> => {
    while (filling !== undefined) await filling
    try {
      return await run()
    } catch (cause) {
      throw failedCall(name, cause as NativeFailure)
    }
  }
  const communicator = new MpiCommunicator(
    addon,
    { engine: 'mpi', reason, rank, size, localRank, localSize },
    {
      allReduce: (array, op, wire) =>
        call('allReduce', () => addon.allReduce(array, REDUCTIONS.indexOf(op), wire === 'bfloat16')),
      tensorSum(backend) {
        if (!(backend instanceof HostBackend)) return undefined
        return async (tensors, { wire } = {}) => {
          while (filling !== undefined) await filling
          const arrays = backend.arraysToWrite('sum tensors', tensors)
          let sum: Promise<void> | undefined
          const queueSum = (all: readonly (Float32Array | Float64Array)[]) => {
            filling = undefined
            for (const { buffer } of all) pinBuffer(buffer)
            sum = call('allReduce', () => addon.sumArrays(all, wire === 'bfloat16'))
          }
          filling = arrays.then(queueSum, () => {
            filling = undefined
          })
          await arrays
          await filling
          await sum
        }
      },
      broadcast: (bytes, root) => call('broadcast', () => addon.broadcast(bytes, root)),
      allGather: (bytes) => call('allGather', () => addon.allGather(bytes)),
      barrier: () => call('barrier', () => addon.barrier()),
      abort: (text, code) => addon.abort(text, code),
      async close() {
        await call('dispose', () => addon.close())
        isOpen = false
        clearInterval(beat)
        process.off('uncaughtExceptionMonitor', rememberUncaught)
        process.off('beforeExit', disposeAtEnd)
        process.off('exit', abortAtExit)
      },
    },
  )
  return communicator
}

function openingError(failure: NativeFailure, launcher: Launcher | undefined): CommunicatorError {
  const { code, call, message: detail, attempts = [], library, version } = failure
  const more = { call, detail, attempts, cause: failure }
  if (code === 'ERR_COMMUNICATOR_OPENED') {
    return new CommunicatorError(
      code,
      `Cannot open communicator as MPI can be opened once per process: it is ${detail}. Pass the communicator on`,
      { cause: failure },
    )
  }
  if (code === 'ERR_WORLD_MISMATCH') {
    return new CommunicatorError(
      code,
      `Cannot open communicator as ${version} (${library}) must see the ${launcher?.size} processes that ${launcher?.name} has started: it sees ${detail}, so that each would train alone. ${launcher?.remedy}`,
      more,
    )
  }
  if (code === 'ERR_COMMUNICATOR_UNAVAILABLE') {
    const why = attempts.length === 0 ? detail : attempts.join('; ')
    return new CommunicatorError(
      code,
      `Cannot open communicator as an MPI library must be usable: ${why}. ${INSTALL}`,
      more,
    )
  }
  return failedCall('open communicator', failure)
}

function failedCall(name: string, failure: NativeFailure): CommunicatorError {
  const { call, message: detail, attempts } = failure
  return new CommunicatorError('ERR_COMMUNICATOR', `Cannot ${name} as ${call} failed: ${detail}`, {
    ...{ call, detail, attempts, cause: failure },
  })
}
