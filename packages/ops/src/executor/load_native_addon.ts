import { thrownMessage } from '@cudnn-rnn/canonical/rules'
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
  readonly argv: readonly string[]
  readonly env: Environment
  readonly report: { getReport(): unknown; excludeNetwork?: boolean }
  getBuiltinModule(name: 'module'): { createRequire(base: string): AddonRequire }
  getBuiltinModule(name: 'fs'): { existsSync(file: URL): boolean }
}
type Environment = Readonly<Record<string, string | undefined>>

const { process } = globalThis as { process?: NodeProcess }

/** The file of a CommonJS bundle of this package. */
declare const __filename: unknown

const ADVICE =
  'Install optional dependencies too: the addon is one. In the repository, `npm run build:native` builds it if a C++ compiler and CMake are installed.'

/** The addon and its file, or the attempts to load it with the error of each, and the remedy. */
export type LoadedAddon<Addon> =
  | { readonly addon: Addon; readonly file: string }
  | { readonly addon: undefined; readonly attempts: readonly string[]; readonly advice: string }

/** The addons that were found. Without them each new executor would look again for the files that precede the addon's. */
const found = new Map<string, unknown>()

/**
 * Loads a native addon from the file that the environment variable `CUDNN_RNN_<NAME>_ADDON` names. Without the variable, loads it
 * from the platform package `@cudnn-rnn/native-<name>-<platform>`, from the file `cudnn_rnn_<name>.node` beside a bundle, or from
 * the output folder of `npm run build:native`. Never throws.
 *
 * @param packageUrl `import.meta.url` of the package that depends on the addon; undefined in CommonJS bundles
 */
export function loadNativeAddon<Addon>(
  name: 'cpu' | 'cudnn' | 'mpi',
  packageUrl: string | undefined,
  environment?: Environment,
  requireFrom?: (base: string) => AddonRequire,
): LoadedAddon<Addon> {
  if (process?.versions?.node === undefined) return { addon: undefined, attempts: ['needs Node.js'], advice: ADVICE }
  const platform = platformTriple(process)
  const file = `cudnn_rnn_${name}.node`
  const named = (environment ?? process.env)[`CUDNN_RNN_${name.toUpperCase()}_ADDON`]
  const places = named
    ? [named]
    : [`@cudnn-rnn/native-${name}-${platform}`, `./${file}`, `../../../native/${name}/prebuilds/${platform}/${file}`]
  const key = [name, named, packageUrl].join('\n')
  if (requireFrom === undefined && found.has(key)) return found.get(key) as LoadedAddon<Addon>
  const failures: string[] = []
  for (const base of basesOf(packageUrl, process)) {
    for (const place of places) {
      try {
        const require = (requireFrom ?? process.getBuiltinModule('module').createRequire)(base)
        const loaded = { addon: require(place) as Addon, file: require.resolve(place) }
        if (requireFrom === undefined) found.set(key, loaded)
        return loaded
      } catch (error) {
        if (named || !isMissing(error)) failures.push(`${place}: ${firstLine(error)}`)
      }
    }
  }
  return {
    addon: undefined,
    attempts: failures.length > 0 ? [...new Set(failures)] : [absence(name, packageUrl, process)],
    advice: ADVICE,
  }
}

/**
 * Modules are looked up from these: the package, or the ECMAScript module that it was bundled into; the CommonJS bundle; the
 * program, if a bundler has replaced both by their values when it ran.
 */
function basesOf(packageUrl: string | undefined, { argv }: NodeProcess): readonly string[] {
  return [packageUrl, bundlePath(), argv[1]].filter((base) => base !== undefined)
}

/** The path of a CommonJS bundle. In an ECMAScript module webpack answers `typeof` itself, so the name is tried. */
function bundlePath(): string | undefined {
  try {
    return __filename as string | undefined
  } catch {
    return undefined
  }
}

/** Webpack leaves the address that the package had when the bundle was made: its file decides. */
function absence(name: string, packageUrl: string | undefined, process: NodeProcess): string {
  const isOfPackage = new RegExp(`/(${name}|distributed)/(dist|src)/`).test(packageUrl ?? '')
  const isInstalled = isOfPackage && process.getBuiltinModule('fs').existsSync(new URL(packageUrl ?? '', 'file:///'))
  return isInstalled ? 'its addon is not installed' : 'not in this bundle: mark @cudnn-rnn/* as external'
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND'
}

/** Cached: the report of libc() describes the whole process and takes milliseconds. */
let thisPlatform: string | undefined

/** This platform in the names of the platform packages: linux-x64-gnu, linux-arm64-musl, darwin-arm64, win32-x64. */
function platformTriple(process: NodeProcess): string {
  thisPlatform ??=
    process.platform === 'linux' ? `linux-${process.arch}-${libc(process)}` : `${process.platform}-${process.arch}`
  return thisPlatform
}

function libc({ report }: NodeProcess): 'gnu' | 'musl' {
  const { excludeNetwork } = report
  // Otherwise the report requests the name of every open socket's peer from the DNS: seconds for each if no server answers.
  report.excludeNetwork = true
  const { header } = report.getReport() as { header?: { glibcVersionRuntime?: string } }
  report.excludeNetwork = excludeNetwork ?? false
  return header?.glibcVersionRuntime === undefined ? 'musl' : 'gnu'
}

function firstLine(error: unknown): string {
  return thrownMessage(error).split('\n')[0] ?? ''
}
