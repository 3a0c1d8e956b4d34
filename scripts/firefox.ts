import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineBrowserProvider } from '@vitest/browser'

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

/**
 * A provider of vitest's browser mode that opens pages in an installed Firefox, headless. Playwright drives only a Firefox that
 * it has patched; a page of tests reports by its own connection to vitest and needs no driver.
 */
export function firefox({ executablePath }: { readonly executablePath: string }) {
  return defineBrowserProvider({
    name: 'firefox',
    providerFactory: () => new FirefoxProvider(executablePath),
  })
}

class FirefoxProvider {
  readonly name = 'firefox'
  readonly supportsParallelism = false
  readonly #executablePath: string
  #process: ChildProcess | undefined
  #profile: string | undefined

  constructor(executablePath: string) {
    this.#executablePath = executablePath
  }

  getCommandsContext(): Record<string, unknown> {
    return {}
  }

  async openPage(_sessionId: string, url: string): Promise<void> {
    await this.close()
    this.#profile = mkdtempSync(join(tmpdir(), 'cudnn-rnn-firefox-'))
    const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref('${name}', ${value})\n`)
    writeFileSync(join(this.#profile, 'user.js'), lines.join(''))
    const options = ['--headless', '--no-remote', '--profile', this.#profile, url]
    const child = spawn(this.#executablePath, options, { stdio: 'ignore' })
    await once(child, 'spawn')
    this.#process = child
  }

  async close(): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    }
    if (this.#profile !== undefined) rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 })
    this.#profile = undefined
  }
}
