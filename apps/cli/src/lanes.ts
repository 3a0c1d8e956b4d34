import { codedRangeError } from './coded_error.js'

/** One window of every lane: ids [T,B] and the ids that follow them, row-major. */
export interface Window {
  readonly inputs: Int32Array
  readonly labels: Int32Array
  /** [T,B] */
  readonly shape: readonly [number, number]
  /** Whether the lanes begin anew here, so that the carried state must be zero. */
  readonly restarts: boolean
}

/**
 * A text cut into B contiguous lanes, read in windows of T: truncated back-propagation through time with the state
 * carried from window to window. The position is the step number alone, so a resumed run reads on where it stopped.
 */
export class Lanes {
  readonly #ids: Int32Array
  readonly #time: number
  readonly #batch: number
  readonly #laneLength: number
  /** Windows of one pass over the text. */
  readonly windows: number

  /** Throws RangeError `ERR_TEXT_TOO_SHORT` when a lane does not hold one window. */
  constructor(ids: Int32Array, time: number, batch: number) {
    this.#ids = ids
    this.#time = time
    this.#batch = batch
    this.#laneLength = Math.floor(ids.length / batch)
    this.windows = Math.floor((this.#laneLength - 1) / time)
    if (this.windows < 1) {
      throw codedRangeError(
        'ERR_TEXT_TOO_SHORT',
        `Cannot cut text into ${batch} lanes as each needs ${time + 1} characters: current length is ${ids.length}. Use a smaller --batch or --time.`,
        { length: ids.length, time, batch },
      )
    }
  }

  window(step: number): Window {
    const [time, batch] = [this.#time, this.#batch]
    const begin = (step % this.windows) * time
    const inputs = new Int32Array(time * batch)
    const labels = new Int32Array(time * batch)
    for (let t = 0; t < time; t++) {
      for (let lane = 0; lane < batch; lane++) {
        const position = lane * this.#laneLength + begin + t
        inputs[t * batch + lane] = this.#ids[position]!
        labels[t * batch + lane] = this.#ids[position + 1]!
      }
    }
    return { inputs, labels, shape: [time, batch], restarts: begin === 0 }
  }
}
