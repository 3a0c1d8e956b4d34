import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { type CudnnBackendOptions, openCudnnBackend } from '../src/index.js'
import { loadAddon } from '../src/load_addon.js'

/** The CUDA emulator, version 9 or 8; a message if there is no compiler or no addon. */
export function openEmulatedGpu(version: 8 | 9 = 9) {
  const { addon } = loadAddon()
  if (addon === undefined) return { problem: 'the cuDNN addon is not built: npm run build:native' }
  const libraries = openCudaEmulator(version)
  if (libraries.problem !== undefined) return { problem: libraries.problem }
  // An executor on a real GPU must not find kernels of the emulated one.
  const cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
  const open = (options: CudnnBackendOptions = {}) =>
    openCudnnBackend({ libraryDir: libraries.folder, cacheDir, ...options })
  return { problem: undefined, libraries, cacheDir, open }
}
