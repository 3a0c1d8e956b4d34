/**
 * Runs `body` on `given`, and then `end`: with its result, or without one if it fails. A result that is a promise is waited for.
 *
 * @throws errors of `body`, after `end`; errors of `end` in place of the result
 */
export function withEnd<Given extends readonly unknown[], Result>(
  body: (...given: Given) => Result,
  end: (result?: Awaited<Result>) => void,
  ...given: Given
): Result {
  const failed = (error: unknown): never => {
    end()
    throw error
  }
  let result: Result
  try {
    result = body(...given)
  } catch (error) {
    return failed(error)
  }
  const ended = (value: Awaited<Result>) => {
    end(value)
    return value
  }
  if (result instanceof Promise) return result.then(ended, failed) as Result
  return ended(result as Awaited<Result>) as Result
}
