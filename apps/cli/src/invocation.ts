import { posix, win32 } from 'node:path'
import { visibleText } from '@cudnn-rnn/canonical/rules'

/** Process data that determine the command that started this program. */
export interface Invocation {
  /** `process.argv[1]`: the file or link that was started. */
  readonly script: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly platform: string
}

const pathsOf = (platform: string) => (platform === 'win32' ? win32 : posix)

/**
 * The command that installs a package if this program finds it, or that starts it with the package again.
 *
 * @param args of the program, which a command that starts it repeats
 */
export function installCommand(packageName: string, args: readonly string[], command = programCommand()): string {
  const again = ['cudnn-rnn', ...args.map((argument) => shellWord(argument))].join(' ')
  if (command.startsWith('npx @')) return `npx --package @cudnn-rnn/cli --package ${packageName} ${again}`
  if (command.startsWith('pnpm dlx')) return `pnpm --package @cudnn-rnn/cli --package ${packageName} dlx ${again}`
  return command === 'cudnn-rnn' ? `npm install --global ${packageName}` : `npm install ${packageName}`
}

/** An argument as a shell takes it, in printable characters; on Windows as cmd.exe and PowerShell do. */
export function shellWord(text: string, platform: string = process.platform): string {
  if (/^[\w./:=@,+-]+$/.test(text.replaceAll(pathsOf(platform).sep, '/'))) return text
  if (platform === 'win32') return `"${visibleText(text.replaceAll('"', '\\"'))}"`
  if (visibleText(text) === text) return `'${text.replaceAll("'", "'\\''")}'`
  return `$'${visibleText(text.replaceAll(/[\\']/g, '\\$&'))}'`
}

/**
 * The command that starts this program again, without the subcommand, as it was started: `cudnn-rnn`, `npx cudnn-rnn`,
 * `npx @cudnn-rnn/cli`, `node dist/bin.js`.
 */
export function programCommand({
  script = process.argv[1] ?? '',
  env = process.env,
  cwd = process.cwd(),
  platform = process.platform,
}: Partial<Invocation> = {}): string {
  const { basename, delimiter, dirname, relative, resolve } = pathsOf(platform)
  const parts = script.split(/[\\/]/)
  const agent = env['npm_config_user_agent'] ?? ''
  // Packages that a runner fetched are in a separate cache; the name of the program alone would fetch another package.
  if (parts.includes('_npx')) return 'npx @cudnn-rnn/cli'
  if (parts.includes('dlx')) return `${agent.startsWith('yarn') ? 'yarn' : 'pnpm'} dlx @cudnn-rnn/cli`
  if (parts.some((part) => part.startsWith('bunx-'))) return 'bunx @cudnn-rnn/cli'
  // A runner or a script of a project started the program that the project has.
  if (env['npm_command'] !== undefined) {
    if (agent.startsWith('pnpm')) return 'pnpm exec cudnn-rnn'
    if (agent.startsWith('yarn')) return 'yarn cudnn-rnn'
    return 'npx cudnn-rnn'
  }
  const isLink = parts.at(-1) !== 'bin.js'
  const path = (env['PATH'] ?? env['Path'] ?? '').split(delimiter)
  if (isLink) return path.some((folder) => resolve(folder) === dirname(resolve(script))) ? 'cudnn-rnn' : 'npx cudnn-rnn'
  // npm's shims on Windows start the file itself.
  if (parts.slice(-5, -1).join('/') === 'node_modules/@cudnn-rnn/cli/dist') {
    const project = resolve(script, '../../../../..')
    // A path to another drive of Windows is absolute.
    return /^\.\.|:/.test(relative(project, cwd)) ? 'cudnn-rnn' : 'npx cudnn-rnn'
  }
  return `node ${shellWord(relative(cwd, script) || basename(script), platform)}`
}
