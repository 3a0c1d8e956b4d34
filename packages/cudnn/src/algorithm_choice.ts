import type { Algorithm } from './cudnn_enums.js'
import { isCudnnError } from './cudnn_error.js'
import { DeviceBuffer } from './device_buffer.js'
import type { Append, DeviceSession, Lane } from './device_session.js'
import type { DropoutGenerator } from './dropout_states.js'
import { timed } from './graph_trial.js'
import type { Graph } from './native_addon.js'
import { capturedAlone, type ScratchOptions, ScratchPass } from './scratch_pass.js'

const WARM_UPS = 2
const REPETITIONS = 5

/** A network and a shape for which an algorithm is to be chosen. */
export interface Trial extends Omit<ScratchOptions, 'algorithm' | 'dropout'> {
  readonly dropout: DropoutGenerator | undefined
  /** Whether passes of this shape are replayed as graphs: where that is faster, or regardless. */
  readonly graphs: 'measured' | 'always' | 'never'
}

/**
 * The fastest of `algorithms` for this trial, measured on scratch memory in the form in which it will run: a pass
 * forward, and backward in training; as calls, as a graph, or as the faster of both.
 *
 * An algorithm that cuDNN refuses at any stage, the backward included, is out: persistent kernels may be refused as late
 * as there. The answer is `standard` where nothing can be measured, as memory for a trial is short.
 */
export async function fastestAlgorithm(
  session: DeviceSession,
  lane: Lane,
  algorithms: readonly Algorithm[],
  trial: Trial,
): Promise<Algorithm> {
  let best: Algorithm = 'standard'
  let bestMilliseconds = Number.POSITIVE_INFINITY
  let isRefused = false
  for (const algorithm of algorithms) {
    const measure = () => tried(session, lane, algorithm, trial, (pass) => milliseconds(session, lane, pass, trial))
    let time = await measure()
    // Note [Stale errors]. After a refused persistent kernel cuDNN's own CUDA runtime may hold an error that the next
    // call reports, whatever it does; cudaGetLastError of ours does not clear it.
    if (time === undefined && isRefused) time = await measure()
    isRefused = time === undefined
    if (time === undefined || time >= bestMilliseconds) continue
    best = algorithm
    bestMilliseconds = time
  }
  if (isRefused) await takesStaleError(session, lane, trial)
  return best
}

/** Whether cuDNN takes `algorithm` at every stage of this trial. */
export async function isAccepted(
  session: DeviceSession,
  lane: Lane,
  algorithm: Algorithm,
  trial: Trial,
): Promise<boolean> {
  const run = async (pass: ScratchPass) => {
    await timed(lane, 'try an algorithm', pass.whole)
    return true
  }
  if (await tried(session, lane, algorithm, trial, run)) return true
  await takesStaleError(session, lane, trial)
  return false
}

/** A standard pass that may meet the error of a refused one, see Note [Stale errors]. */
async function takesStaleError(session: DeviceSession, lane: Lane, trial: Trial): Promise<void> {
  await tried(session, lane, 'standard', trial, (pass) => timed(lane, 'try an algorithm', pass.whole))
}

/** What `use` makes of a pass with `algorithm`; undefined where cuDNN refuses it. The dropout generator stays as it was. */
async function tried<Result>(
  session: DeviceSession,
  lane: Lane,
  algorithm: Algorithm,
  trial: Trial,
  use: (pass: ScratchPass) => Promise<Result>,
): Promise<Result | undefined> {
  const states = trial.dropout?.states
  let pass: ScratchPass | undefined
  let saved: DeviceBuffer | undefined
  try {
    pass = await ScratchPass.make(session, lane, { ...trial, algorithm, dropout: trial.dropout?.descriptor ?? null })
    if (states === undefined) return await use(pass)
    await lane.run('save the dropout state', (native, handle) => {
      saved = new DeviceBuffer(session, states.bytes)
      native.copy(handle, saved.handle, 0, states.handle, 0, states.bytes)
    })
    return await use(pass)
  } catch (error) {
    if (isRefusal(error)) return undefined
    throw error
  } finally {
    pass?.release()
    if (saved !== undefined) {
      const copy = saved
      await lane.run('restore the dropout state', (native, handle) => {
        native.copy(handle, states!.handle, 0, copy.handle, 0, copy.bytes)
      })
      copy.release()
    }
  }
}

/** Milliseconds of one pass, in its faster form. */
async function milliseconds(session: DeviceSession, lane: Lane, pass: ScratchPass, { graphs }: Trial): Promise<number> {
  const ofCalls = await averaged(lane, pass.whole)
  if (graphs === 'never') return ofCalls
  let graph: Graph | undefined
  try {
    graph = await capturedAlone(session, lane, pass.whole)
    const launched = graph
    const ofGraph = await averaged(lane, (native, handle) => native.launchGraph(handle, launched))
    return graphs === 'always' ? ofGraph : Math.min(ofCalls, ofGraph)
  } catch (error) {
    // It will run as calls.
    if (isRefusal(error) || isCudnnError(error, 'ERR_CUDA')) return ofCalls
    throw error
  } finally {
    if (graph !== undefined) session.releaseGraph(graph)
  }
}

async function averaged(lane: Lane, append: Append): Promise<number> {
  const repeated =
    (count: number): Append =>
    (...at) => {
      for (let n = 0; n < count; n++) append(...at)
    }
  await lane.run('warm up a trial', repeated(WARM_UPS))
  return (await timed(lane, 'time a trial', repeated(REPETITIONS))) / REPETITIONS
}

/** True for the failures that rule an algorithm out; a lost device is not one of them. */
function isRefusal(error: unknown): boolean {
  const isOfDescriptor = error instanceof Error && 'statusName' in error && 'library' in error
  return (
    isOfDescriptor ||
    isCudnnError(error, 'ERR_CUDNN_NOT_SUPPORTED', 'ERR_CUDNN_BAD_PARAM', 'ERR_CUDNN', 'ERR_OUT_OF_DEVICE_MEMORY')
  )
}
