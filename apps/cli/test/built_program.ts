import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'

export const packagePath = fileURLToPath(new URL('..', import.meta.url))

// Lies as deep as dist, to find the same dependencies and addons; its own name, so that two test runs can share the folder.
export const programPath = join(packagePath, `.tsc/bin-${process.pid}-${performance.now()}.mjs`)

/** Builds the program from today's sources before the tests of a file, and removes it after them. */
export function usesProgram(): void {
  beforeAll(async () => {
    const { dependencies } = JSON.parse(await readFile(join(packagePath, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    const external = Object.keys(dependencies).filter((name) => !name.startsWith('@cudnn-rnn/'))
    await bundleProgram(join(packagePath, 'src/bin.ts'), programPath, { external })
  }, 60_000)
  afterAll(() => rm(programPath, { force: true }))
}

export function start(args: readonly string[]): ChildProcessWithoutNullStreams {
  return spawn(process.execPath, [programPath, ...args], { env: { ...process.env, NO_COLOR: '1' } })
}

export async function outcome(child: Pick<ChildProcessWithoutNullStreams, 'stdout' | 'stderr' | 'on'>) {
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

export const runProcess = (...args: string[]) => outcome(start(args))
