/** Loads a CommonJS module; `createRequire` makes one. */
export interface AddonRequire {
  (place: string): unknown
  resolve(place: string): string
}

/** The parts of Node.js' `process` that the search depends on. This package has no types of Node.js: it also runs in browsers. */
interface NodeProcess {
  readonly versions?: { readonly node?: string }
  readonly platform: string
  readonly arch: string
  readonly env: Environment
  readonly report: { getReport(): unknown }
}
type Environment = Readonly<Record<string, string | undefined>>

const { process } = globalThis as { process?: NodeProcess }

/** The addon and its file, or the attempts to load it with the error of each. */
export type LoadedAddon<Addon> =
  | { readonly addon: Addon; readonly file: string }
  | { readonly addon: undefined; readonly attempts: readonly string[] }

/**
 * Loads a native addon from the file that the environment variable `CUDNN_RNN_<NAME>_ADDON` names. Without the variable, loads it
 * from the platform package `@cudnn-rnn/native-<name>-<platform>` or else from the output folder of `npm run build:native`.
 *
 * @param packageRequire makes the `require` of the package that depends on the addon. It is not called outside Node.js.
 * @example
 * ```ts
 * import { createRequire } from 'node:module'
 * import { loadNativeAddon } from '@cudnn-rnn/executor-kit'
 *
 * const loaded = loadNativeAddon('cpu', () => createRequire(import.meta.url), { CUDNN_RNN_CPU_ADDON: 'no-such.node' })
 * console.log(loaded.addon) // undefined
 * ```
 */
export function loadNativeAddon<Addon>(
  name: 'cpu' | 'cudnn' | 'mpi',
  packageRequire: () => AddonRequire,
  environment?: Environment,
): LoadedAddon<Addon> {
  if (process?.versions?.node === undefined) return { addon: undefined, attempts: ['addons need Node.js'] }
  const require = packageRequire()
  const platform = platformTriple(process)
  const named = (environment ?? process.env)[`CUDNN_RNN_${name.toUpperCase()}_ADDON`]
  const places = named
    ? [named]
    : [`@cudnn-rnn/native-${name}-${platform}`, `../../../native/${name}/prebuilds/${platform}/cudnn_rnn_${name}.node`]
  const attempts: string[] = []
  for (const place of places) {
    try {
      return { addon: require(place) as Addon, file: require.resolve(place) }
    } catch (error) {
      attempts.push(`${place}: ${firstLine(error)}`)
    }
  }
  return { addon: undefined, attempts }
}

/** Cached: the report of libc() describes the whole process and takes milliseconds. */
let thisPlatform: string | undefined

/** As in the names of the platform packages: linux-x64-gnu, linux-arm64-musl, darwin-arm64, win32-x64. */
function platformTriple(process: NodeProcess): string {
  thisPlatform ??=
    process.platform === 'linux' ? `linux-${process.arch}-${libc(process)}` : `${process.platform}-${process.arch}`
  return thisPlatform
}

function libc({ report }: NodeProcess): 'gnu' | 'musl' {
  const { header } = report.getReport() as { header?: { glibcVersionRuntime?: string } }
  return header?.glibcVersionRuntime === undefined ? 'musl' : 'gnu'
}

function firstLine(error: unknown): string {
  return String(error instanceof Error ? error.message : error).split('\n')[0] ?? ''
}
