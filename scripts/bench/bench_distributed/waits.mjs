/**
 * The time of the collective calls of a training, without a step's other work. `skew` is the wait of a rank
 * until the last one has begun the call, `exchange` the time from then to the end of the call on that rank.
 *
 * @param ranks for each rank its calls in their order, { begin, end } in milliseconds of one clock
 * @param steps in which the calls were made
 * @returns milliseconds per step, means over the ranks
 */
export function waitsOf(ranks, steps) {
  const waits = { skew: 0, exchange: 0 }
  for (const index of ranks[0].keys()) {
    const last = Math.max(...ranks.map((calls) => calls[index].begin))
    for (const calls of ranks) {
      const { begin, end } = calls[index]
      waits.skew += (last - begin) / (steps * ranks.length)
      waits.exchange += (end - last) / (steps * ranks.length)
    }
  }
  return waits
}

/**
 * The skew of ranks that wait for each other only at the end of a step, each with step times of the distribution of one of
 * `processes`: the mean of the longest of them, less their mean.
 */
export function skewOfIndependent([first, second]) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length
  const longest = first.flatMap((a) => second.map((b) => Math.max(a, b)))
  return mean(longest) - (mean(first) + mean(second)) / 2
}
