import type { ErrorCode } from '@cudnn-rnn/rnn'

/**
 * An error of the command line with a stable `code`, which `--json` and tests read. Its message may have several lines: the makers of
 * the packages escape line ends, as a message of theirs may quote a file.
 */
export function codedRangeError(
  code: ErrorCode,
  message: string,
  fields: Readonly<Record<string, unknown>> = {},
): RangeError {
  return Object.assign(new RangeError(message), fields, { code })
}
