import type { CommandList } from './command_list.js'
import type { CommandQueue } from './command_queue.js'

/**
 * Yields lists and continues with the numbers that their commands report. One generator serves the asynchronous and the
 * blocking caller, so the two cannot differ.
 */
export type Asking<Result> = Generator<CommandList, Result, Float64Array>

/** Runs the lists of `asking` in turn. */
export async function answer<Result>(queue: CommandQueue, asking: Asking<Result>): Promise<Result> {
  let next = asking.next()
  while (!next.done) {
    const resume = await queue.run(next.value).then(
      (numbers) => () => asking.next(numbers),
      (error: unknown) => () => asking.throw(error),
    )
    next = resume()
  }
  return next.value
}

/** Like {@link answer}, and blocks the calling thread. */
export function answerNow<Result>(queue: CommandQueue, asking: Asking<Result>): Result {
  let next = asking.next()
  while (!next.done) {
    let numbers: Float64Array
    try {
      numbers = queue.settleNow(next.value)
    } catch (error) {
      next = asking.throw(error)
      continue
    }
    next = asking.next(numbers)
  }
  return next.value
}
