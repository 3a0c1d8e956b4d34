// Times of functions that alternate, so that all meet the same load.

/**
 * A round repeats a function for this long: threads of the function before it disturb a shorter round of two threads. Before the
 * first round a function runs until engines have optimized it.
 */
const ROUND_MS = 200
const WARM_UP_MS = 150
/** Before a round: threads of the function before it may still poll for work. */
const PAUSE_MS = 30

/** The mean milliseconds of a call of `run` over at least `least` milliseconds. */
async function millisecondsOf(run, least) {
  const began = performance.now()
  let count = 0
  do {
    await run()
    count++
  } while (performance.now() - began < least)
  return (performance.now() - began) / count
}

/** The milliseconds of each function of `runs` in every round, by its name. */
export async function roundsOf(runs, rounds) {
  for (const run of Object.values(runs)) await millisecondsOf(run, WARM_UP_MS)
  const times = Object.fromEntries(Object.keys(runs).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, run] of Object.entries(runs)) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
      // Wakes its threads.
      await run()
      times[name].push(await millisecondsOf(run, ROUND_MS))
    }
  }
  return times
}
