// A page of one bundled script, served to Chromium with headers of choice.
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import * as esbuild from 'esbuild'
import { chromium } from 'playwright'

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'

/** Headers of a page whose threads may share memory. */
export const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
}

/**
 * Files of a bundle of `program`, which imports built packages by their paths from packages/rnn, by name. `options` are further
 * ones of esbuild.
 */
export async function bundlePage(program, options = {}) {
  const resolveDir = fileURLToPath(new URL('../../packages/rnn', import.meta.url))
  const { outputFiles } = await esbuild.build({
    ...{ stdin: { contents: program, resolveDir }, outdir: '/', entryNames: 'main', logLevel: 'error' },
    // Without the paths of the workspace's tsconfig, which lead to the sources.
    ...{ bundle: true, format: 'esm', splitting: true, write: false, tsconfigRaw: {}, ...options },
  })
  return new Map(outputFiles.map(({ path, contents }) => [path.replace(/^.*[/\\]/, '/'), contents]))
}

/** Starts Chromium. Prints a line and returns undefined if there is none. */
export async function openChromium() {
  if (existsSync(executablePath)) return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
  console.log(`No page is run: no Chromium at ${executablePath}. Install it or set CHROMIUM_PATH.`)
  return undefined
}

/**
 * Opens pages until `run` has returned. `report(files, headers, timeout)` is the value that a page's script logs as JSON within
 * `timeout` milliseconds, by default a minute. Returns undefined if there is no Chromium.
 */
export async function withChromium(run) {
  const browser = await openChromium()
  if (browser === undefined) return undefined
  try {
    return await run((files, headers, timeout) => reportOf(browser, files, headers, timeout), browser.version())
  } finally {
    await browser.close()
  }
}

async function reportOf(browser, files, headers, timeout = 60_000) {
  const server = createServer(({ url }, response) => {
    const body = url === '/' ? '<!doctype html><script type="module" src="/main.js"></script>' : files.get(url)
    const type = url === '/' ? 'text/html' : url.endsWith('.wasm') ? 'application/wasm' : 'text/javascript'
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': type, ...headers })
    response.end(body)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const page = await browser.newPage()
  const errors = []
  page.on('pageerror', (error) => errors.push(error))
  try {
    // A policy of the page may forbid to evaluate anything in it.
    const report = page.waitForEvent('console', { predicate: (line) => line.type() === 'log', timeout })
    const loaded = page.goto(`http://127.0.0.1:${server.address().port}/`)
    const line = await report.catch((error) => {
      throw errors[0] ?? error
    })
    await loaded
    return JSON.parse(line.text())
  } finally {
    await page.close()
    server.close()
  }
}
