import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { bundleProgram } from '../../../scripts/testing/bundle_program.mjs'

/**
 * Bundles `fuzz/concurrent_program.ts` for the tests of a file.
 *
 * @returns The bundle's path, and `newDirectory`, which makes a directory that is removed when its test ends.
 */
export async function useConcurrentProgram() {
  const folder = await mkdtemp(join(tmpdir(), 'concurrent-'))
  const program = join(folder, 'concurrent_program.mjs')
  const source = fileURLToPath(new URL('../fuzz/concurrent_program.ts', import.meta.url))
  beforeAll(() => bundleProgram(source, program))
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const newDirectory = async (): Promise<string> => {
    const directory = await mkdtemp(join(folder, 'run-'))
    onTestFinished(() => rm(directory, { recursive: true, force: true }))
    return directory
  }
  return { program, newDirectory }
}
