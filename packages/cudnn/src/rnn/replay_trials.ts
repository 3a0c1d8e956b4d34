import { createRnnDescriptor, type RnnDescriptor } from '@cudnn-rnn/canonical'
import type { CommandList } from '../device/command_list.js'
import type { CommandQueue } from '../device/command_queue.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import type { DeviceSession } from '../device/device_session.js'
import type { Arithmetic } from '../device/precision.js'
import type { DropoutGenerator } from './dropout_states.js'
import { ScratchPass } from './scratch_pass.js'

/** Rows enough for masks to differ. */
const DROPOUT_SIZES = { time: 1, batch: 64, sequenceLengths: null }

/**
 * True if training forwards that are replayed draw the masks that they would have drawn as calls. cuDNN does not say
 * where its generator counts: a counter on the host would be fixed in a graph, and every replay would drop the same
 * elements. So it is tried, in an exclusive section: two passes are called and replayed from the same state of the
 * generator. States and reserve spaces, which hold the masks, must agree. The state is put back afterwards.
 */
export async function replaysDropout(
  session: DeviceSession,
  queue: CommandQueue,
  network: RnnDescriptor,
  arithmetic: Arithmetic,
  { descriptor, states }: DropoutGenerator,
): Promise<boolean> {
  let pass: ScratchPass | undefined
  let saved: DeviceBuffer | undefined
  try {
    const made = await ScratchPass.make(session, queue, {
      ...{ network, arithmetic, sizes: DROPOUT_SIZES, training: true, algorithm: 'standard' },
      dropout: descriptor,
    })
    pass = made
    const saving = session.list('try dropout')
    const copy = saving.allocate(states.bytes)
    saved = copy
    saving.copy(copy, states)
    await queue.run(saving)
    /** States and reserve space after each of two passes. */
    const drawnBy = async (run: (list: CommandList) => void): Promise<readonly Uint8Array[]> => {
      const drawn = [0, 1].flatMap(() => [new Uint8Array(states.bytes), new Uint8Array(made.reserve.bytes)])
      const list = session.list('try dropout')
      // The reserve space is cleared first: bytes that cuDNN leaves unwritten must compare equal.
      for (const n of [0, 2]) {
        list.add('clear', { to: made.reserve, offset: 0, bytes: made.reserve.bytes })
        run(list)
        list.add('download', { from: states, offset: 0, to: drawn[n] })
        list.add('download', { from: made.reserve, offset: 0, to: drawn[n + 1] })
      }
      list.copy(states, copy)
      await queue.run(list)
      return drawn
    }
    const called = await drawnBy((list) => made.forward(list))
    const exec = await made.captured((list) => made.forward(list))
    const replayed = await drawnBy((list) => list.add('launchGraph', { exec }))
    // The first test shows that the generator advances at all: two equal states would make the second one meaningless.
    return !isEqual(called[0], called[2]) && called.every((bytes, k) => isEqual(bytes, replayed[k]))
  } catch {
    // A pass that cannot be captured is not replayed either; a lost device is reported by the next call.
    return false
  } finally {
    queue.releaseNow(saved === undefined ? [] : [saved.discard()])
    pass?.release()
  }
}

/** A network that every cuDNN takes. */
const SMALL = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 32, inputSize: 32 })

/**
 * True if a replayed pass keeps the lengths of its rows. cuDNN does not say how the lengths of a descriptor reach
 * the device: if it stages them in its own memory, a graph holds the copy, and a replay would read the lengths of
 * the last other pass. So it is tried, in an exclusive section: a pass is captured, another with other lengths runs,
 * and the replay must leave the states of the first.
 */
export async function replaysLengths(
  session: DeviceSession,
  queue: CommandQueue,
  arithmetic: Arithmetic,
): Promise<boolean> {
  const passes: ScratchPass[] = []
  try {
    const passOf = async (...lengths: readonly number[]) => {
      const sizes = { time: 3, batch: 3, sequenceLengths: Int32Array.from(lengths) }
      const trial = {
        network: SMALL,
        arithmetic,
        sizes,
        training: false,
        algorithm: 'standard',
        dropout: null,
      } as const
      const pass = await ScratchPass.make(session, queue, trial)
      passes.push(pass)
      return pass
    }
    // The other pass has other lengths, so a graph that reads them gives other final states.
    const [first, other] = [await passOf(3, 1, 2), await passOf(1, 3, 1)]
    const statesAfter = async ({ hy }: ScratchPass, run: (list: CommandList) => void): Promise<Uint8Array> => {
      const states = new Uint8Array(hy.bytes)
      const list = session.list('try rows of unequal length')
      list.add('clear', { to: hy, offset: 0, bytes: hy.bytes })
      run(list)
      list.add('download', { from: hy, offset: 0, to: states })
      await queue.run(list)
      return states
    }
    const called = await statesAfter(first, (list) => first.forward(list))
    const exec = await first.captured((list) => first.forward(list))
    const others = await statesAfter(other, (list) => other.forward(list))
    const replayed = await statesAfter(first, (list) => list.add('launchGraph', { exec }))
    return !isEqual(called, others) && isEqual(called, replayed)
  } catch {
    return false
  } finally {
    for (const pass of passes) pass.release()
  }
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
