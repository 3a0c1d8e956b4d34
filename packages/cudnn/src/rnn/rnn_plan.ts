import { entryOf } from '@cudnn-rnn/canonical/rules'
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

/** Plans by shape, the least recently used dropped first. */
export class PlanCache {
  readonly #plans = new Map<string, RnnPlan>()
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Lengths are part of the key: descriptors and device arrays hold them. */
  static key({ time, batch, sequenceLengths }: RnnPassSizes, training: boolean): string {
    return `${training ? 'training' : 'inference'} ${time} ${batch} ${sequenceLengths ?? 'full'}`
  }

  get(key: string): RnnPlan | undefined {
    const plan = this.#plans.get(key)
    if (plan === undefined) return undefined
    // A Map iterates in the order of insertion: setting the key again makes it the most recently used.
    this.#plans.delete(key)
    this.#plans.set(key, plan)
    return plan
  }

  /** Drops the plan that `plan` replaces, if there is one. */
  set(key: string, plan: RnnPlan): void {
    if (this.#plans.has(key)) this.#drop(key)
    this.#plans.set(key, plan)
    if (this.#plans.size <= this.#capacity) return
    const [oldest] = this.#plans.keys()
    this.#drop(oldest)
  }

  clear(): void {
    for (const key of [...this.#plans.keys()]) this.#drop(key)
  }

  /** Drops `plan`, if it is still the one of `key`. */
  remove(key: string, plan: RnnPlan): void {
    if (this.#plans.get(key) === plan) this.#drop(key)
  }

  #drop(key: string): void {
    entryOf(this.#plans, key).release()
    this.#plans.delete(key)
  }
}
