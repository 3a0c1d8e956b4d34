import { integerFrom, NUMBER, optional, where } from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { Philox } from '@cudnn-rnn/ops/executor'
import { newArray } from './float_tensor.js'

export const KEEP_PROBABILITY = optional(
  where(NUMBER, 'a number in (0, 1]', (probability: number) => probability > 0 && probability <= 1),
)

export const SEED = optional(integerFrom(0))

/** Keeps masks apart from initial weights (stream 1) that share their seed. */
const MASK_STREAM = 3

/** The dropout masks of one cell, each drawn from where the last one ended. */
export class DropoutMasks {
  readonly #random: Philox

  /** @param seed an integer in 0..2^53-1. */
  constructor(seed: number) {
    this.#random = new Philox(seed, MASK_STREAM)
  }

  /** `count` factors: 1/keepProb with probability keepProb, else 0. */
  draw(dtype: FloatDType, count: number, keepProb: number): FloatArray {
    const mask = newArray(dtype, count)
    for (let k = 0; k < count; k++) mask[k] = this.#random.uniform() < keepProb ? 1 / keepProb : 0
    return mask
  }

  /** How many numbers were drawn: restored, the next mask is the same again. */
  get position(): number {
    return this.#random.position
  }

  set position(position: number) {
    this.#random.seek(position)
  }
}
