import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { name: 'cuda_emulator', include: ['test/*.test.mjs'] } })
