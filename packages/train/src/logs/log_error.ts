import type { FileHandle } from 'node:fs/promises'
import type { CodedError } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'

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

/** Appends `bytes` to a file of `length` bytes, whole or not at all. Throws RangeError `ERR_LOG_IO`. */
export async function appendWhole(path: string, file: FileHandle, bytes: Uint8Array, length: number): Promise<void> {
  await coded('write', path, async () => {
    try {
      // A file system that is nearly full takes a part, and refuses the rest.
      for (let done = 0; done < bytes.length; ) done += (await file.write(bytes, done)).bytesWritten
    } catch (error) {
      await file.truncate(length).catch(() => undefined)
      throw error
    }
  })
}
