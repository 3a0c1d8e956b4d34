import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { programPath, usesProgram } from './built_program.js'
import { temporaryDirectory, writeSmallText } from './small_run.js'

usesProgram()

/** Runs the program with a full disk as its standard output, or with a reader that leaves after it has read something. */
async function into(
  output: 'a full disk' | 'a closed pipe',
  ...args: readonly string[]
): Promise<{ exitCode: number | null; stderr: string }> {
  const stdout = output === 'a full disk' ? openSync('/dev/full', 'w') : 'pipe'
  const child = spawn(process.execPath, [programPath, ...args], { stdio: ['ignore', stdout, 'pipe'] })
  if (typeof stdout === 'number') closeSync(stdout)
  child.stdout?.once('data', () => child.stdout?.destroy())
  let stderr = ''
  child.stderr?.on('data', (piece) => {
    stderr += String(piece)
  })
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { exitCode, stderr }
}

const REPORTED = /^error \[ERR_OUTPUT_FILE\]: Cannot write to standard output \(ENOSPC: [^\n]*\n$/

it.runIf(process.platform === 'linux')('a full disk is one line with a code', async () => {
  const { exitCode, stderr } = await into('a full disk', 'layout')
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(REPORTED) })
})

it.runIf(process.platform === 'linux').each(['a full disk', 'a closed pipe'] as const)(
  'a training whose output is %s saves before it ends',
  async (output) => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    const sizes = ['--units', '6', '--embedding', '4', '--batch', '3', '--time', '6', '--steps', '100000', '--json']
    const text = await writeSmallText(directory)
    const { exitCode, stderr } = await into(output, 'train', '--text', text, ...sizes, '--out', out)
    expect(stderr).toMatch(output === 'a full disk' ? REPORTED : /^$/)
    expect(exitCode).not.toBe(0)
    await access(join(out, 'checkpoint'))
  },
  100_000,
)
