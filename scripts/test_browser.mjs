// Runs the browser tests where there is a Chromium, and reports a skip where there is none.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const chromium = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
if (!existsSync(chromium)) {
  console.log(`Browser tests skipped: no Chromium at ${chromium}. Install it or set CHROMIUM_PATH.`)
  process.exit(0)
}
const { status } = spawnSync('vitest', ['run', '--config', 'vitest.browser.config.ts', ...process.argv.slice(2)], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
})
process.exit(status ?? 1)
