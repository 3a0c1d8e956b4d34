import { type StreamPoolOptions, streamPoolOf } from '../../src/index.js'
import { type RowSum, SummingRows } from './summing_rows.js'

export const frame = (...values: number[]) => ({ data: Float32Array.from(values), shape: [1] })
export const frames = (...values: number[]) => ({ data: Float32Array.from(values), shape: [values.length, 1] })

/** A pool of four streams of a network that sums, with that network. */
export function openPool(options: StreamPoolOptions = {}, { isElsewhere = false } = {}) {
  const network = new SummingRows({ isElsewhere })
  return { network, pool: streamPoolOf<RowSum>(network, { maxStreams: 4, ...options }) }
}
