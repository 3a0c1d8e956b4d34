import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, vi } from 'vitest'

/** A temporary folder for each test, in an environment that names no libraries of this machine. */
export function usesLibraryFolders() {
  let root: string
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'cuda-libraries-'))
    // Without the libraries of this machine.
    const names = ['CUDNN_RNN_LIBRARY_DIR', 'CUDNN_PATH', 'CUDA_PATH', 'CUDA_HOME', 'CONDA_PREFIX', 'VIRTUAL_ENV']
    for (const name of names) vi.stubEnv(name, undefined)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
    rmSync(root, { recursive: true })
  })

  /** A folder below the root with empty files. */
  function folderOf(name: string, files: readonly string[]): string {
    const folder = join(root, name)
    mkdirSync(folder, { recursive: true })
    for (const file of files) writeFileSync(join(folder, file), '')
    return folder
  }

  return { folderOf, rootOf: () => root }
}
