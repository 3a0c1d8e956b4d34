// Runs the browser tests in Chromium, and wasm's in Firefox too; reports a skip if there is no such browser. Options of
// vitest are for Chromium; names of files are for both. Without arguments also the built playground
// with its server stopped (check_offline.mjs).
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import ownTemporaryFolder from '../temporary_folder.mjs'

const given = process.argv.slice(2)
const RUNS = [
  {
    browser: 'Chromium',
    path: process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium',
    args: ['--config', 'vitest.browser.config.ts', ...given],
  },
  {
    browser: 'Firefox',
    path: process.env['FIREFOX_PATH'] ?? '/usr/bin/firefox-esr',
    args: ['--config', 'vitest.firefox.config.ts', '--passWithNoTests', ...given.filter((arg) => !arg.startsWith('-'))],
  },
]

// Browsers leave files in it, such as the folder of their client of PulseAudio.
ownTemporaryFolder()

for (const { browser, path, args } of RUNS) {
  if (!existsSync(path)) {
    console.log(
      `Browser tests in ${browser} skipped: no program at ${path}. Install it or set ${browser.toUpperCase()}_PATH.`,
    )
    continue
  }
  const { status } = spawnSync('vitest', ['run', ...args], { stdio: 'inherit', shell: process.platform === 'win32' })
  if (status !== 0) process.exitCode = status ?? 1
}

if (given.length === 0) {
  const { status } = spawnSync(process.execPath, ['scripts/checks/check_offline.mjs'], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = status ?? 1
}
