import { createRequire } from 'node:module'
import type { BackendAttempt } from '@cudnn-rnn/backend'
import type { NativeAddon } from './native_addon.js'

/** Overrides where the addon is loaded from. */
const ADDON_VARIABLE = 'CUDNN_RNN_CPU_ADDON'

/** The addon, or the places that were searched for it. */
export type LoadedAddon =
  | { readonly addon: NativeAddon; readonly attempts: readonly BackendAttempt[] }
  | { readonly addon: undefined; readonly attempts: readonly BackendAttempt[] }

/**
 * Loads the native addon: from the file that `CUDNN_RNN_CPU_ADDON` names and nowhere else, or from the platform package,
 * or from a build in this repository.
 */
export function loadAddon(
  environment: NodeJS.ProcessEnv = globalThis.process?.env,
  require?: (place: string) => unknown,
): LoadedAddon {
  if (globalThis.process?.versions?.node === undefined) {
    return { addon: undefined, attempts: [{ name: 'cpu', reason: 'addons need Node.js' }] }
  }
  const load = require ?? createRequire(import.meta.url)
  const override = environment[ADDON_VARIABLE]
  const triple = platformTriple()
  const candidates =
    override === undefined || override === ''
      ? [`@cudnn-rnn/native-cpu-${triple}`, `../../../native/cpu/prebuilds/${triple}/cudnn_rnn_cpu.node`]
      : [override]
  const attempts: BackendAttempt[] = []
  for (const candidate of candidates) {
    try {
      return { addon: load(candidate) as NativeAddon, attempts }
    } catch (error) {
      attempts.push({ name: 'cpu', reason: `${candidate}: ${firstLine(error)}` })
    }
  }
  return { addon: undefined, attempts }
}

let thisPlatform: string | undefined

/** As in the names of the platform packages: linux-x64-gnu, darwin-arm64, win32-x64. */
function platformTriple(): string {
  thisPlatform ??=
    process.platform === 'linux' ? `linux-${process.arch}-${libc()}` : `${process.platform}-${process.arch}`
  return thisPlatform
}

/** Takes milliseconds, as the report is about the whole process. */
function libc(): 'gnu' | 'musl' {
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  return report.header?.glibcVersionRuntime === undefined ? 'musl' : 'gnu'
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n')[0] ?? ''
}
