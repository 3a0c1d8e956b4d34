/** The steps of a mask [T,B] that are not 0. */
interface ActiveSteps {
  /** [T,B], how many there are in a row up to a step, this one included. */
  readonly counts: Int32Array
  /** [B], how many there are in a row. */
  readonly lengths: Int32Array
}

export function activeSteps(mask: Uint8Array, batch: number): ActiveSteps {
  const counts = new Int32Array(mask.length)
  const lengths = new Int32Array(batch)
  for (let n = 0; n < mask.length; n++) {
    if (mask[n] !== 0) lengths[n % batch]++
    counts[n] = lengths[n % batch]
  }
  return { counts, lengths }
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
