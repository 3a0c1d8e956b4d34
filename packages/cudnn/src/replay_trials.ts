import { createRnnDescriptor, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { DeviceBuffer } from './device_buffer.js'
import type { DeviceSession, Lane } from './device_session.js'
import type { DropoutGenerator } from './dropout_states.js'
import type { Graph } from './native_addon.js'
import { PassBuffers } from './pass_buffers.js'
import type { Arithmetic } from './precision.js'
import { capturedAlone, ScratchPass } from './scratch_pass.js'

/** Rows enough for masks to differ. */
const DROPOUT_SIZES = { time: 1, batch: 64, sequenceLengths: null }

/**
 * True where training forwards that are replayed draw the masks that they would have drawn as calls. cuDNN does not say
 * where its generator counts: a counter on the host would be fixed in a graph, and every replay would drop the same
 * elements. So it is tried, where the queue is held: two passes are called and replayed from the same state of the
 * generator. States and reserve spaces, which hold the masks, must agree. The state is put back afterwards.
 */
export async function replaysDropout(
  session: DeviceSession,
  lane: Lane,
  network: RnnDescriptor,
  arithmetic: Arithmetic,
  { descriptor, states }: DropoutGenerator,
): Promise<boolean> {
  const { native } = session
  const owned = new PassBuffers()
  let pass: ScratchPass | undefined
  let graph: Graph | undefined
  let saved: DeviceBuffer | undefined
  const restore = () => native.copy(session.handle, states.handle, 0, saved!.handle, 0, states.bytes)
  try {
    const made = await ScratchPass.make(session, lane, {
      ...{ network, arithmetic, sizes: DROPOUT_SIZES, training: true, algorithm: 'standard' },
      dropout: descriptor,
    })
    pass = made
    await lane.run('try dropout', (_, handle) => {
      saved = owned.own(new DeviceBuffer(session, states.bytes))
      native.copy(handle, saved.handle, 0, states.handle, 0, states.bytes)
    })
    /** States and reserve space after each of two passes. */
    const drawnBy = async (run: () => void): Promise<readonly Uint8Array[]> => {
      const drawn = [0, 1].flatMap(() => [new Uint8Array(states.bytes), new Uint8Array(made.reserve.bytes)])
      await lane.run('try dropout', (_, handle) => {
        for (const n of [0, 2]) {
          native.clear(handle, made.reserve.handle, 0, made.reserve.bytes)
          run()
          native.download(handle, states.handle, 0, drawn[n]!)
          native.download(handle, made.reserve.handle, 0, drawn[n + 1]!)
        }
        restore()
      })
      return drawn
    }
    const called = await drawnBy(() => made.forward(native, session.handle))
    const launched = await capturedAlone(session, lane, made.forward)
    graph = launched
    const replayed = await drawnBy(() => native.launchGraph(session.handle, launched))
    return !isEqual(called[0]!, called[2]!) && called.every((bytes, k) => isEqual(bytes, replayed[k]!))
  } catch {
    // What cannot be captured is not replayed either; a lost device shows in whatever comes next.
    return false
  } finally {
    if (graph !== undefined) session.releaseGraph(graph)
    pass?.release()
    owned.release()
  }
}

/** A network that every cuDNN takes. */
const SMALL = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 32, inputSize: 32 })

/**
 * True where a replayed pass keeps the lengths of its rows. cuDNN does not say how the lengths of a descriptor reach the
 * device: if it stages them in memory of its own, a graph holds the copy, and a replay would read the lengths of the last
 * other pass. So it is tried, where the queue is held: a pass is captured, another with other lengths runs, and the
 * replay must leave the states of the first.
 */
export async function replaysLengths(session: DeviceSession, lane: Lane, arithmetic: Arithmetic): Promise<boolean> {
  const { native } = session
  const passes: ScratchPass[] = []
  let graph: Graph | undefined
  try {
    for (const lengths of [
      [3, 1, 2],
      [1, 3, 1],
    ]) {
      const sizes = { time: 3, batch: 3, sequenceLengths: Int32Array.from(lengths) }
      const trial = {
        network: SMALL,
        arithmetic,
        sizes,
        training: false,
        algorithm: 'standard',
        dropout: null,
      } as const
      passes.push(await ScratchPass.make(session, lane, trial))
    }
    const [first, other] = passes as [ScratchPass, ScratchPass]
    const statesAfter = async (pass: ScratchPass, run: () => void): Promise<Uint8Array> => {
      const states = new Uint8Array(pass.hy.bytes)
      await lane.run('try rows of unequal length', (_, handle) => {
        native.clear(handle, pass.hy.handle, 0, pass.hy.bytes)
        run()
        native.download(handle, pass.hy.handle, 0, states)
      })
      return states
    }
    const called = await statesAfter(first, () => first.forward(native, session.handle))
    const captured = await capturedAlone(session, lane, first.forward)
    graph = captured
    const others = await statesAfter(other, () => other.forward(native, session.handle))
    const replayed = await statesAfter(first, () => native.launchGraph(session.handle, captured))
    return !isEqual(called, others) && isEqual(called, replayed)
  } catch {
    return false
  } finally {
    if (graph !== undefined) session.releaseGraph(graph)
    for (const pass of passes) pass.release()
  }
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
