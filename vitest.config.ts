import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: 'scripts/temporary_folder.mjs',
    // vitest leaves one processor to itself, but it is idle while the tests run.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: ['packages/*', 'apps/*', 'scripts/vitest.config.ts', 'native/cuda_emulator'],
  },
})
