import { createRequire } from 'node:module'
import type { NativeAddon } from './sys/native_addon.js'

const FILE = 'cudnn_rnn_cudnn.node'

/** What to do where there is no addon. */
export const ADDON_ADVICE =
  'Install optional dependencies too: the addon is one. In the repository, `npm run build:native` builds it where a C++ compiler and CMake are.'

/** The addon, or the attempts to load it with the error of each. */
export type LoadedAddon =
  | { readonly addon: NativeAddon; readonly file: string }
  | { readonly addon: undefined; readonly attempts: readonly string[] }

/**
 * Loads the addon: from the file that the environment variable `CUDNN_RNN_CUDNN_ADDON` names and nowhere else, or from
 * the platform's package, or from where `npm run build:native` leaves it.
 */
export function loadAddon(
  environment: NodeJS.ProcessEnv = globalThis.process?.env,
  require?: Pick<NodeJS.Require, 'resolve'> & ((place: string) => unknown),
): LoadedAddon {
  if (globalThis.process?.versions?.node === undefined) return { addon: undefined, attempts: ['addons need Node.js'] }
  // A require of this file, as the addon is CommonJS and its path is relative to the package.
  const load = require ?? createRequire(import.meta.url)
  const attempts: string[] = []
  const platform = platformTriple()
  const named = environment['CUDNN_RNN_CUDNN_ADDON']
  const places = named
    ? [named]
    : [`@cudnn-rnn/native-cudnn-${platform}`, `../../../native/cudnn/prebuilds/${platform}/${FILE}`]
  for (const place of places) {
    try {
      return { addon: load(place) as NativeAddon, file: load.resolve(place) }
    } catch (error) {
      attempts.push(`${place}: ${firstLine(error)}`)
    }
  }
  return { addon: undefined, attempts }
}

/** Cached, as libc() is slow. */
let thisPlatform: string | undefined

/** linux-x64-gnu, linux-arm64-musl, win32-x64, darwin-arm64. */
function platformTriple(): string {
  thisPlatform ??=
    process.platform === 'linux' ? `linux-${process.arch}-${libc()}` : `${process.platform}-${process.arch}`
  return thisPlatform
}

/** Takes milliseconds, as the report is about the whole process. */
function libc(): 'gnu' | 'musl' {
  const report = process.report.getReport() as unknown as { readonly header: { readonly glibcVersionRuntime?: string } }
  return report.header.glibcVersionRuntime === undefined ? 'musl' : 'gnu'
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n')[0]
}
