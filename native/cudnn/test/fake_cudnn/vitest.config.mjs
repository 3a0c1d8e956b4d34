import { defineConfig } from 'vitest/config'

export default defineConfig({ test: { name: 'fake_cudnn', include: ['*.test.mjs'] } })
