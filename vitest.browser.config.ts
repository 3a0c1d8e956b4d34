import { playwright } from '@vitest/browser-playwright'
import { defineConfig } from 'vitest/config'
import { optionalBuiltinsInVite } from './scripts/build/optional_builtins.js'
import { reporters } from './scripts/testing/reporters.js'
import { sourceAliases } from './scripts/testing/vitest_aliases.js'

/** The tests of the packages that must run in browsers, in Debian's headless Chromium. */
export default defineConfig({
  plugins: [optionalBuiltinsInVite()],
  resolve: { alias: sourceAliases },
  // Cross-origin isolation: pages have SharedArrayBuffer only with these headers.
  server: {
    // Trained models of other projects, in a folder beside the repository if present.
    fs: { allow: ['.', '../shared/models'] },
    headers: { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' },
  },
  test: {
    include: [
      '{packages,apps}/*/test/**/*.browser.test.{ts,tsx}',
      'packages/canonical/test/{,frameworks/}*.test.ts',
      'packages/ops/test/executor/**/*.test.ts',
      'packages/{reference,wasm,cells}/test/**/*.test.ts',
      'packages/checkpoint/test/{readers,crc32c,store/file_store}.test.ts',
    ],
    exclude: ['**/*.node.test.ts'],
    testTimeout: 180_000,
    reporters,
    // One page for all files: a page for each would load the modules of its package again.
    isolate: false,
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      provider: playwright({
        launchOptions: {
          executablePath: process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium',
          args: [
            '--no-sandbox',
            '--disable-gpu',
            '--disable-quic',
            '--no-first-run',
            '--disable-background-networking',
            '--disable-component-update',
            '--disable-sync',
            // A microphone that beeps, without a question to the reader.
            '--use-fake-device-for-media-stream',
            '--use-fake-ui-for-media-stream',
          ],
        },
      }),
      instances: [{ browser: 'chromium' }],
    },
  },
})
