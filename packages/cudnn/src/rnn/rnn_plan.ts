import type { PassShapes, RnnPassSizes } from '@cudnn-rnn/ops/executor'
import type { DeviceSession } from '../device/device_session.js'
import type { Algorithm } from '../sys/cudnn_enums.js'
import type { RnnCall } from './rnn_call.js'

export interface PlanParts extends RnnCall {
  readonly sizes: RnnPassSizes
  /** Frozen: tensors share them. */
  readonly shapes: PassShapes
  readonly algorithm: Algorithm
  /** False if a graph of these passes would repeat what each call draws or reads again. */
  readonly isReplayable: boolean
}

/**
 * Everything about passes of one shape that does not depend on values: descriptors, lengths on the device, sizes. A tape
 * keeps its plan alive after the cache has dropped it.
 */
export interface RnnPlan extends PlanParts {
  /** One more owner: a tape, or a pass under way. */
  retain(): RnnPlan
  /** The last owner's release destroys the descriptors and frees the lengths, after the commands queued so far. */
  release(): void
}

/** A plan with one owner. */
export function rnnPlan(session: DeviceSession, parts: PlanParts): RnnPlan {
  let owners = 1
  const plan: RnnPlan = {
    ...parts,
    retain() {
      owners++
      return plan
    },
    release() {
      if (--owners !== 0) return
      parts.lengths.given?.release()
      parts.lengths.real?.release()
      const { x, y, h, c } = parts.descriptors
      session.destroy(x, y, h, c)
    },
  }
  return plan
}

/** Lengths are part of the key: descriptors and device arrays hold them. */
export function planKey({ time, batch, sequenceLengths }: RnnPassSizes, training: boolean): string {
  return `${training ? 'training' : 'inference'} ${time} ${batch} ${sequenceLengths ?? 'full'}`
}
