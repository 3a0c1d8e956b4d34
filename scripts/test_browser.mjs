// Runs the browser tests in Chromium, and those of wasm in Firefox; reports a skip where there is no such browser. Options of
// vitest, such as those of reports, are for Chromium; names of files are for both. Without arguments also the built playground
// with its server stopped (check_offline.mjs).
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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

// The client of PulseAudio in browsers makes a folder, by default in the temporary folder, and leaves it there.
const audio = mkdtempSync(join(tmpdir(), 'cudnn-rnn-audio-'))
process.env.PULSE_RUNTIME_PATH = audio
process.once('exit', () => rmSync(audio, { recursive: true, force: true }))

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
  const { status } = spawnSync(process.execPath, ['scripts/check_offline.mjs'], { stdio: 'inherit' })
  if (status !== 0) process.exitCode = status ?? 1
}
