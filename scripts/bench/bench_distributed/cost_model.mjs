// The time of a training step over n ranks, from measurements of one and two processes (docs/bench/distributed.md, cost model).
// Times are milliseconds, bandwidths bytes per millisecond.
import { quantile } from '../statistics.mjs'

/**
 * Latency and bandwidth of all-reduces of two ranks: time = 2·latency + bytes/bandwidth by least squares, each point
 * weighted by 1/time².
 *
 * @param points { bytes, time } of at least two sizes
 */
export function fitNetwork(points) {
  const sum = (of) => points.reduce((total, point) => total + of(point) / point.time ** 2, 0)
  const [s, sx, sxx, sy, sxy] = [
    sum(() => 1),
    sum(({ bytes }) => bytes),
    sum(({ bytes }) => bytes ** 2),
    sum(({ time }) => time),
    sum(({ bytes, time }) => bytes * time),
  ]
  const perByte = (s * sxy - sx * sy) / (s * sxx - sx ** 2)
  return { latency: Math.max(0, (sy - perByte * sx) / s) / 2, bandwidth: 1 / perByte }
}

/** A ring all-reduce: each of its 2(n−1) phases sends an n-th of the bytes. */
export function reduceTime({ latency, bandwidth }, ranks, bytes) {
  return ranks === 1 ? 0 : 2 * (ranks - 1) * (latency + bytes / (ranks * bandwidth))
}

/**
 * The median of the longest of `ranks` independent steps, each with the distribution F of `times`: all of them are shorter
 * than x with the probability F(x)ⁿ, which is ½ at F(x) = 2^(−1/n).
 */
export function medianOfSlowest(times, ranks) {
  return quantile(times, 2 ** (-1 / ranks))
}

/** Step times of several runs, each over the median of its run, so that a machine that becomes slower does not add to the spread. */
export function relativeSteps(runs) {
  return runs.flatMap((times) => times.map((time) => time / quantile(times, 0.5)))
}

/**
 * @param step of one process alone
 * @param contention a step of one of two processes that share the host without communicating, over `step`
 * @param spread their step times, by {@link relativeSteps}
 */
export function stepTime({ step, contention, spread, cores, network, bytes }, ranks) {
  if (ranks === 1) return step
  // A rank that waits polls, so its core is busy and no other rank moves to it.
  const ranksOfCore = Math.ceil(ranks / cores)
  return step * contention * ranksOfCore * medianOfSlowest(spread, ranks) + reduceTime(network, ranks, bytes)
}
