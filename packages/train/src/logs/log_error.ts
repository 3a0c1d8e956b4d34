import type { CodedError } from '@cudnn-rnn/canonical'
import { codedRangeError } from '../coded_error.js'

/** The error of a log that the system refuses to read or write. */
export function logError(action: string, path: string, cause: unknown): CodedError<RangeError> {
  return codedRangeError('ERR_LOG_IO', `Cannot ${action} log ${path} (${(cause as Error).message})`, { path, cause })
}

/** The result of `use`; system errors become `ERR_LOG_IO`. */
export async function coded<Result>(action: string, path: string, use: () => Promise<Result>): Promise<Result> {
  try {
    return await use()
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) throw logError(action, path, error)
    throw error
  }
}
