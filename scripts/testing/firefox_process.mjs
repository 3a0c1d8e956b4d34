// An installed Firefox without a window. Playwright drives only a Firefox that it has patched, so pages report by their own requests.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Preferences of a profile without first-run pages, updates, telemetry and background connections. */
const PREFERENCES = {
  'app.normandy.enabled': false,
  'app.update.enabled': false,
  'browser.aboutwelcome.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.tabs.warnOnClose': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'dom.max_script_run_time': 0,
  'extensions.update.enabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'toolkit.telemetry.enabled': false,
}

/** Opens `urls` in a new profile, each in a tab. Resolves to a function that ends the process and removes the profile. */
export async function openInFirefox(executablePath, urls) {
  const profile = mkdtempSync(join(tmpdir(), 'cudnn-rnn-firefox-'))
  const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref('${name}', ${value})\n`)
  writeFileSync(join(profile, 'user.js'), lines.join(''))
  const options = ['--headless', '--no-remote', '--profile', profile, ...urls]
  const child = spawn(executablePath, options, { stdio: 'ignore' })
  await once(child, 'spawn')
  return async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    }
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 })
  }
}
