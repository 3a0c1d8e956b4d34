import { defineBrowserProvider } from '@vitest/browser'
import { openInFirefox } from './firefox_process.mjs'

/** A provider of vitest's browser mode that opens pages in an installed Firefox: a page of tests needs no driver. */
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
  #close: (() => Promise<void>) | undefined

  constructor(executablePath: string) {
    this.#executablePath = executablePath
  }

  getCommandsContext(): Record<string, unknown> {
    return {}
  }

  async openPage(_sessionId: string, url: string): Promise<void> {
    await this.close()
    this.#close = await openInFirefox(this.#executablePath, [url])
  }

  async close(): Promise<void> {
    const close = this.#close
    this.#close = undefined
    await close?.()
  }
}
