/** The order in which one direction walks the time steps of each batch row. */
export interface TimeOrder {
  /** Steps of the longest row. */
  readonly steps: number
  /** Whether row b has a step number `step` (counted from 0 in time order). */
  isActive(step: number, b: number): boolean
  /** Whether every row has it. */
  isFull(step: number): boolean
  /** The time index t at which row b makes step number `step`. */
  timeOf(step: number, b: number): number
}

/**
 * Forward walks t = 0, 1, …; backward starts at each row's own last valid step and walks to 0. Both stop at the row's
 * length (T when `lengths` is null), so its state stays its last valid step's.
 */
export function timeOrder(direction: number, time: number, lengths: Int32Array | null): TimeOrder {
  const steps = lengths === null ? time : lengths.reduce((longest, length) => Math.max(longest, length), 0)
  const shortest = lengths === null ? time : lengths.reduce((least, length) => Math.min(least, length), time)
  const lengthOf = (b: number) => (lengths === null ? time : lengths[b])
  return {
    steps,
    isActive: (step, b) => step < lengthOf(b),
    isFull: (step) => step < shortest,
    timeOf: direction === 0 ? (step) => step : (step, b) => lengthOf(b) - 1 - step,
  }
}
