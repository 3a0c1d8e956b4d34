import { flatLayout, outputSize, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/executor-kit'
import { type Algorithm, FORWARD_MODE } from './cudnn_enums.js'
import { isCudnnError } from './cudnn_error.js'
import { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession, Lane } from './device_session.js'
import type { NativeAddon, RnnDescriptorHandle, Session, Timer } from './native_addon.js'
import { makeRnnDescriptor, stateElements } from './network_descriptors.js'
import type { Arithmetic } from './precision.js'
import { DeviceLengths, type PassDescriptors, passDescriptors, releaseDescriptors, tempSpaceSizes } from './rnn_plan.js'

const WARM_UPS = 2
const REPETITIONS = 5

/** A network and a shape for which an algorithm is to be chosen. */
export interface Trial {
  readonly network: RnnDescriptor
  readonly arithmetic: Arithmetic
  readonly sizes: RnnPassSizes
  readonly training: boolean
}

/**
 * The fastest of `algorithms` for this trial, measured on scratch memory: a pass forward, and backward in training.
 *
 * What cuDNN refuses at any stage, the backward included, is out: the persistent kernels may say "not supported" as
 * late as there. Where nothing can be measured (memory for a trial is short) the answer is `standard`.
 */
export async function fastestAlgorithm(
  session: DeviceSession,
  lane: Lane,
  algorithms: readonly Algorithm[],
  trial: Trial,
): Promise<Algorithm> {
  let best: Algorithm = 'standard'
  let bestMilliseconds = Number.POSITIVE_INFINITY
  for (const algorithm of algorithms) {
    const milliseconds = await measureAlgorithm(session, lane, algorithm, trial)
    if (milliseconds === undefined || milliseconds >= bestMilliseconds) continue
    best = algorithm
    bestMilliseconds = milliseconds
  }
  return best
}

/** Milliseconds of one pass; undefined where the algorithm does not work for this trial. */
async function measureAlgorithm(
  session: DeviceSession,
  lane: Lane,
  algorithm: Algorithm,
  { network, arithmetic, sizes, training }: Trial,
): Promise<number | undefined> {
  const { native, libraries } = session
  const scratch: DeviceBuffer[] = []
  let lengths: DeviceLengths | undefined
  let rnn: RnnDescriptorHandle | undefined
  let descriptors: PassDescriptors | undefined
  try {
    // Without dropout: a trial must not advance the generator.
    const trial = makeRnnDescriptor(native, libraries, arithmetic, network, algorithm, null)
    rnn = trial
    const shapes = passDescriptors(session, arithmetic, network, sizes)
    descriptors = shapes
    const temp = await tempSpaceSizes(lane, trial, training, shapes.x)
    const { h, c } = stateElements(network, sizes.batch)
    const steps = sizes.time * sizes.batch
    const make = (elements: number) => zeroed(session, native, elements * arithmetic.bytes, scratch)
    let buffers: Record<
      'x' | 'y' | 'hy' | 'cy' | 'weights' | 'dx' | 'dhx' | 'dcx' | 'dw' | 'dy' | 'work' | 'reserve',
      DeviceBuffer
    >
    await lane.run('make room for a trial', () => {
      const params = flatLayout(network).size
      lengths = new DeviceLengths(session, sizes)
      buffers = {
        x: make(steps * network.inputSize),
        y: make(steps * outputSize(network)),
        hy: make(h),
        cy: make(c),
        weights: make(params),
        dx: make(training ? steps * network.inputSize : 0),
        dy: make(training ? steps * outputSize(network) : 0),
        dhx: make(training ? h : 0),
        dcx: make(training ? c : 0),
        dw: make(training ? params : 0),
        work: zeroed(session, native, temp.workspaceBytes, scratch),
        reserve: zeroed(session, native, temp.reserveBytes, scratch),
      }
    })
    const { x, y, hy, cy, weights, dx, dy, dhx, dcx, dw, work, reserve } = buffers!
    const hasCell = shapes.c !== null
    const pass = (_: NativeAddon, handle: Session) => {
      native.rnnForward(
        handle,
        trial,
        training ? FORWARD_MODE.training : FORWARD_MODE.inference,
        lengths!.shown.handle,
        ...([shapes.x, x.handle, shapes.y, y.handle] as const),
        ...([shapes.h, null, hy.handle, shapes.c, null, hasCell ? cy.handle : null] as const),
        ...([weights.handle, work.handle, training ? reserve.handle : null] as const),
      )
      if (!training) return
      native.rnnBackwardData(
        handle,
        trial,
        lengths!.shown.handle,
        ...([shapes.y, y.handle, dy.handle, shapes.x, dx.handle] as const),
        ...([shapes.h, null, null, dhx.handle] as const),
        ...([shapes.c, null, null, hasCell ? dcx.handle : null] as const),
        ...([weights.handle, work.handle, reserve.handle] as const),
      )
      native.rnnBackwardWeights(
        handle,
        trial,
        lengths!.shown.handle,
        ...([shapes.x, x.handle, shapes.h, null, shapes.y, y.handle] as const),
        ...([dw.handle, work.handle, reserve.handle] as const),
      )
    }
    await lane.run('warm up a trial', (...at) => {
      for (let n = 0; n < WARM_UPS; n++) pass(...at)
    })
    const [milliseconds] = await lane.run('time a trial', (...at) => {
      const timer: Timer = native.startTimer(at[1])
      for (let n = 0; n < REPETITIONS; n++) pass(...at)
      native.stopTimer(at[1], timer)
    })
    return milliseconds! / REPETITIONS
  } catch (error) {
    if (isUnusable(error)) return undefined
    throw error
  } finally {
    lengths?.release()
    if (rnn !== undefined) native.releaseDescriptor(rnn)
    if (descriptors !== undefined) releaseDescriptors(session, descriptors)
    for (const buffer of scratch) buffer.release()
  }
}

/** True for the failures that rule an algorithm out; a lost device is not one of them. */
function isUnusable(error: unknown): boolean {
  const isRefusedHere = error instanceof Error && 'statusName' in error && 'library' in error
  return (
    isRefusedHere ||
    isCudnnError(error, 'ERR_CUDNN_NOT_SUPPORTED', 'ERR_CUDNN_BAD_PARAM', 'ERR_CUDNN', 'ERR_OUT_OF_DEVICE_MEMORY')
  )
}

function zeroed(session: DeviceSession, native: NativeAddon, bytes: number, scratch: DeviceBuffer[]): DeviceBuffer {
  const buffer = new DeviceBuffer(session, bytes)
  scratch.push(buffer)
  native.clear(session.handle, buffer.handle, 0, bytes)
  return buffer
}
