import type { SequenceOperands } from './sequence.js'

/** The lengths [B] that a mask stands for, null without one; undefined where a step follows a masked one. */
export function lengthsOf({ mask, time, batch }: SequenceOperands): Int32Array | null | undefined {
  if (mask === null) return null
  const lengths = new Int32Array(batch)
  for (let t = 0; t < time; t++) {
    for (let b = 0; b < batch; b++) {
      if (mask[t * batch + b] === 0) continue
      if (lengths[b] < t) return undefined
      lengths[b] = t + 1
    }
  }
  return lengths
}

/**
 * The mask [B,T] of a layer in the order of the steps, time-major.
 *
 * @param reversed steps run from the last to the first.
 */
export function stepMask(values: ArrayLike<number>, time: number, batch: number, reversed: boolean): Uint8Array {
  const mask = new Uint8Array(time * batch)
  for (let t = 0; t < time; t++) {
    const from = reversed ? time - 1 - t : t
    for (let b = 0; b < batch; b++) mask[t * batch + b] = values[b * time + from] === 0 ? 0 : 1
  }
  return mask
}
