import { defineConfig } from 'vitest/config'
import { firefox } from './scripts/testing/firefox.js'
import { optionalBuiltinsInVite } from './scripts/build/optional_builtins.js'
import { reporters } from './scripts/testing/reporters.js'
import { sourceAliases } from './scripts/testing/vitest_aliases.js'

/** The tests of wasm in an installed Firefox: another engine compiles the modules and starts the workers. */
export default defineConfig({
  plugins: [optionalBuiltinsInVite()],
  resolve: { alias: sourceAliases },
  // Cross-origin isolation: pages have SharedArrayBuffer only with these headers.
  server: {
    headers: { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' },
  },
  test: {
    include: ['packages/wasm/test/**/*.test.ts'],
    exclude: ['**/*.node.test.ts'],
    testTimeout: 180_000,
    reporters,
    // One page for all files: a page for each would load the modules of the package again.
    isolate: false,
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      connectTimeout: 120_000,
      provider: firefox({ executablePath: process.env['FIREFOX_PATH'] ?? '/usr/bin/firefox-esr' }),
      instances: [{ browser: 'firefox' }],
    },
  },
})
