import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { programPath, usesProgram } from './built_program.js'
import { temporaryDirectory, writeSmallText } from './small_run.js'

usesProgram()

/** Runs the program with a full disk as its standard output. */
async function intoFullDisk(...args: readonly string[]): Promise<{ exitCode: number | null; stderr: string }> {
  const full = openSync('/dev/full', 'w')
  const child = spawn(process.execPath, [programPath, ...args], { stdio: ['ignore', full, 'pipe'] })
  closeSync(full)
  let stderr = ''
  child.stderr?.on('data', (piece) => {
    stderr += String(piece)
  })
  const exitCode = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { exitCode, stderr }
}

const REPORTED = /^error \[ERR_OUTPUT_FILE\]: Cannot write to standard output \(ENOSPC: [^\n]*\n$/

it.runIf(process.platform === 'linux')('a full disk is one line with a code', async () => {
  const { exitCode, stderr } = await intoFullDisk('layout')
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(REPORTED) })
})

it.runIf(process.platform === 'linux')(
  'a training whose output is full saves before it ends',
  async () => {
    const directory = await temporaryDirectory()
    const out = join(directory, 'run')
    const sizes = ['--units', '6', '--embedding', '4', '--batch', '3', '--time', '6', '--steps', '100000', '--json']
    const { exitCode, stderr } = await intoFullDisk(
      'train',
      '--text',
      await writeSmallText(directory),
      ...sizes,
      '--out',
      out,
    )
    expect({ exitCode, stderr }).toEqual({ exitCode: expect.any(Number), stderr: expect.stringMatching(REPORTED) })
    expect(exitCode).not.toBe(0)
    await access(join(out, 'checkpoint'))
  },
  100_000,
)
