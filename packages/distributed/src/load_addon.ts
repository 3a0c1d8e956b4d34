import { createRequire } from 'node:module'
import type { NativeAddon } from './mpi/native_addon.js'

const FILE = 'cudnn_rnn_mpi.node'

/** The addon, or the places that were tried, each with the reason why loading it failed. */
export type LoadedAddon =
  | { readonly addon: NativeAddon }
  | { readonly addon: undefined; readonly attempts: readonly string[] }

/**
 * Loads the addon: from the file that the environment variable `CUDNN_RNN_MPI_ADDON` names and nowhere else, or from the
 * platform's package, or from where `npm run build:native` leaves it.
 */
export function loadAddon(
  environment: NodeJS.ProcessEnv = process.env,
  load: (place: string) => unknown = createRequire(import.meta.url),
): LoadedAddon {
  const attempts: string[] = []
  const platform = platformTriple()
  const named = environment['CUDNN_RNN_MPI_ADDON']
  const places = named
    ? [named]
    : [`@cudnn-rnn/native-mpi-${platform}`, `../../../native/mpi/prebuilds/${platform}/${FILE}`]
  for (const place of places) {
    try {
      return { addon: load(place) as NativeAddon }
    } catch (error) {
      attempts.push(`${place}: ${String(error instanceof Error ? error.message : error).split('\n')[0]}`)
    }
  }
  return { addon: undefined, attempts }
}

/** linux-x64-gnu, linux-arm64-musl, darwin-arm64. */
function platformTriple(): string {
  if (process.platform !== 'linux') return `${process.platform}-${process.arch}`
  const report = process.report.getReport() as unknown as { readonly header: { readonly glibcVersionRuntime?: string } }
  return `linux-${process.arch}-${report.header.glibcVersionRuntime === undefined ? 'musl' : 'gnu'}`
}
