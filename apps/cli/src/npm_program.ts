import { existsSync } from 'node:fs'
import { posix, win32 } from 'node:path'

/** Process data that determine where npm is. */
export interface NpmPlace {
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
