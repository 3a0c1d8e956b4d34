import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    globalSetup: 'scripts/test_temp_folder.ts',
    projects: ['packages/*', 'apps/*', 'scripts/vitest.config.ts', 'native/cuda_emulator'],
  },
})
