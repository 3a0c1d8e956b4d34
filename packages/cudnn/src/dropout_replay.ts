import type { RnnDescriptor } from '@cudnn-rnn/canonical'
import { flatLayout, outputSize } from '@cudnn-rnn/canonical'
import { FORWARD_MODE } from './cudnn_enums.js'
import { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession, Lane } from './device_session.js'
import type { Graph, RnnDescriptorHandle } from './native_addon.js'
import { stateElements } from './network_descriptors.js'
import { PassBuffers } from './pass_buffers.js'
import type { Arithmetic } from './precision.js'
import { DeviceLengths, passDescriptors, releaseDescriptors, tempSpaceSizes } from './rnn_plan.js'

/** A network with dropout, and its generator. */
export interface DropoutTrial {
  readonly network: RnnDescriptor
  readonly arithmetic: Arithmetic
  readonly rnn: RnnDescriptorHandle
  readonly states: DeviceBuffer
}

/** A pass as small as one can be; a row of two for the generator to be worth its name. */
const SIZES = { time: 1, batch: 2, sequenceLengths: null }

/**
 * True where a training forward that is replayed draws the masks that it would have drawn as a call. cuDNN does not say
 * where its generator counts: what it kept on the host would be fixed in a graph, and every replay would drop the same
 * elements. So it is tried, where the queue is held: the same pass is called and replayed from the same state of the
 * generator, which must have moved on to the same state. It is put back afterwards.
 */
export async function replayDrawsAsCalls(
  session: DeviceSession,
  lane: Lane,
  { network, arithmetic, rnn, states }: DropoutTrial,
): Promise<boolean> {
  const { native } = session
  const owned = new PassBuffers()
  const [initial, called, replayed] = [0, 1, 2].map(() => new Uint8Array(states.bytes))
  let lengths: DeviceLengths | undefined
  let graph: Graph | undefined
  const descriptors = passDescriptors(session, arithmetic, network, SIZES)
  try {
    const temp = await tempSpaceSizes(lane, rnn, true, descriptors.x)
    const zeros = (elements: number, bytes = arithmetic.bytes) => {
      const buffer = owned.own(new DeviceBuffer(session, elements * bytes))
      native.clear(session.handle, buffer.handle, 0, buffer.bytes)
      return buffer
    }
    let saved: DeviceBuffer | undefined
    let pass = () => {}
    await lane.run('try dropout', (_, handle) => {
      const steps = SIZES.time * SIZES.batch
      const { h, c } = stateElements(network, SIZES.batch)
      lengths = new DeviceLengths(session, SIZES)
      const [x, y, hy, cy] = [steps * network.inputSize, steps * outputSize(network), h, c].map((n) => zeros(n))
      const weights = zeros(flatLayout(network).size)
      const [work, reserve] = [zeros(temp.workspaceBytes, 1), zeros(temp.reserveBytes, 1)]
      saved = zeros(states.bytes, 1)
      native.copy(handle, saved.handle, 0, states.handle, 0, states.bytes)
      pass = () =>
        native.rnnForward(
          handle,
          rnn,
          FORWARD_MODE.training,
          lengths!.shown.handle,
          ...([descriptors.x, x!.handle, descriptors.y, y!.handle, descriptors.h, null, hy!.handle] as const),
          ...([descriptors.c, null, descriptors.c && cy!.handle, weights.handle, work.handle, reserve.handle] as const),
        )
      native.download(handle, states.handle, 0, initial!)
      pass()
      native.download(handle, states.handle, 0, called!)
      native.copy(handle, states.handle, 0, saved.handle, 0, states.bytes)
    })
    await lane.run('try dropout', (_, handle) => {
      native.beginCapture(handle)
      pass()
      graph = session.endCapture()
    })
    await lane.run('try dropout', (_, handle) => {
      native.launchGraph(handle, graph!)
      native.download(handle, states.handle, 0, replayed!)
      native.copy(handle, states.handle, 0, saved!.handle, 0, states.bytes)
    })
    return !isEqual(initial!, called!) && isEqual(called!, replayed!)
  } catch {
    // What cannot be captured is not replayed either; a lost device shows in whatever comes next.
    return false
  } finally {
    if (graph !== undefined) session.releaseGraph(graph)
    owned.release()
    lengths?.release()
    releaseDescriptors(session, descriptors)
  }
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
