import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll } from 'vitest'

export const packagePath = fileURLToPath(new URL('..', import.meta.url))
const packages = join(packagePath, '../../packages')

/** Every package and every subpath of one, from its sources. */
async function sourceAliases(): Promise<Record<string, string>> {
  const aliases: Record<string, string> = {}
  for (const name of await readdir(packages)) {
    const source = join(packages, name, 'src')
    for (const file of await readdir(source).catch(() => [])) {
      if (!file.endsWith('.ts')) continue
      const subpath = file === 'index.ts' ? '' : `/${basename(file, '.ts')}`
      aliases[`@cudnn-rnn/${name}${subpath}`] = join(source, file)
    }
  }
  return aliases
}

// As deep as dist, so that it finds the same dependencies and addons; its own name, so that two test runs may meet.
const bin = join(packagePath, `.tsc/bin-${process.pid}-${performance.now()}.mjs`)

/** Builds the program from today's sources before the tests of a file, and removes it after them. */
export function usesProgram(): void {
  beforeAll(async () => {
    const { dependencies } = JSON.parse(await readFile(join(packagePath, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    await build({
      entryPoints: [join(packagePath, 'src/bin.ts')],
      outfile: bin,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      external: Object.keys(dependencies).filter((name) => !name.startsWith('@cudnn-rnn/')),
      banner: {
        js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url)",
      },
      alias: await sourceAliases(),
    })
  }, 60_000)
  afterAll(() => rm(bin, { force: true }))
}

export function start(args: readonly string[]): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [bin, ...args], { env: { ...process.env, NO_COLOR: '1' } })
}

export async function outcome(child: ChildProcessWithoutNullStreams) {
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const exitCode = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { exitCode, stdout, stderr }
}

export const run = (...args: string[]) => outcome(start(args))
