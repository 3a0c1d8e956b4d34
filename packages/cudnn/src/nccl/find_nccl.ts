import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type BackendAttempt, BackendUnavailableError } from '@cudnn-rnn/ops'
import { libraryFolders } from '../sys/library_places.js'
import type { NativeAddon } from '../sys/native_addon.js'

const FILE = 'libnccl.so.2'
const ADVICE =
  'Install NCCL (pip install nvidia-nccl-cu13, or the package libnccl2), or set CUDNN_RNN_LIBRARY_DIR to the folder that holds it.'

/** The first NCCL that opens. Throws BackendUnavailableError. */
export function findNccl(addon: NativeAddon, libraryDir: string | undefined) {
  const attempts: BackendAttempt[] = []
  for (const folder of libraryFolders(libraryDir)) {
    const file = folder === '' ? FILE : join(folder, FILE)
    if (folder !== '' && !existsSync(file)) continue
    const { error } = addon.openLibrary(file)
    if (error !== undefined) {
      attempts.push({ name: 'nccl', reason: error })
      continue
    }
    try {
      return { file, version: versionText(addon.ncclVersion(file)) }
    } catch (cause) {
      // A release before 2.14 lacks some functions.
      attempts.push({ name: 'nccl', reason: `${file}: ${(cause as Error & { statusName: string }).statusName}` })
    }
  }
  throw ncclUnavailable(attempts.length > 0 ? attempts : [{ name: 'nccl', reason: `${FILE} was not found` }], ADVICE)
}

/** 22707 is 2.27.7. */
function versionText(number: number): string {
  return [Math.floor(number / 10_000), Math.floor(number / 100) % 100, number % 100].join('.')
}

export function ncclUnavailable(attempts: readonly BackendAttempt[], advice: string): BackendUnavailableError {
  return new BackendUnavailableError('nccl', attempts, advice)
}
