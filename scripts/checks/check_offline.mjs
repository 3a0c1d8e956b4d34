// Builds the playground, opens it in Chromium, stops its server, and uses every part of the page, after a reload too:
//   node scripts/checks/check_offline.mjs [--screenshots FOLDER]
// With --screenshots it also writes pictures of each part at 1280 and 360 pixels, light and dark. The modules of native/wasm must
// be built: npm run build.
import { mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { build } from 'vite'
import { serveFolder } from '../../apps/site/static_server.mjs'
import { openChromium } from '../testing/browser_page.mjs'

const { values: options } = parseArgs({ options: { screenshots: { type: 'string' } } })
const browser = await openChromium()
if (browser === undefined) process.exit(0)
const root = fileURLToPath(new URL('../../apps/playground', import.meta.url))
const weights = fileURLToPath(new URL('../../fixtures/interop/pytorch/tagger.safetensors', import.meta.url))
const PARTS = ['train', 'weights', 'speech']

const outDir = join(tmpdir(), `cudnn-rnn-playground-${process.pid}`)
await build({ root, configFile: join(root, 'vite.config.ts'), logLevel: 'error', build: { outDir } })

const server = await serveFolder(outDir)
const context = await browser.newContext()
const foreign = []
context.on('request', (request) => {
  if (!/^(blob|data):/.test(request.url()) && !request.url().startsWith(server.url)) foreign.push(request.url())
})
try {
  const page = await context.newPage()
  await page.goto(server.url)
  // Ready is after its installation, which has stored every file.
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined))
  server.close()
  await usePage(page)
  await page.reload()
  await usePage(page)
  if (options.screenshots !== undefined) await writePictures(page, options.screenshots)
  if (foreign.length > 0) throw new Error(`the page requested ${foreign.join(', ')}`)
  console.log('Playground: every part works with its server stopped')
} catch (error) {
  console.error(`Playground with its server stopped: ${error.message}`)
  process.exitCode = 1
} finally {
  await browser.close()
  server.close()
  rmSync(outDir, { recursive: true, force: true })
}

/** Trains and watches gates, opens a weight file, and opens the part for speech. */
async function usePage(page) {
  await page.evaluate(() => {
    location.hash = 'train'
  })
  await page.getByRole('button', { name: 'Train' }).click()
  await page.waitForFunction(() => Number(document.querySelector('[data-step]')?.dataset.step) > 60)
  await page.getByRole('button', { name: 'Stop', exact: true }).first().click()
  await page.getByRole('button', { name: 'Show' }).click()
  await page.waitForFunction(() => document.querySelectorAll('.gates canvas').length === 6)
  await page.getByRole('link', { name: 'Weights' }).click()
  await page.locator('section:not([hidden]) input[type=file]').setInputFiles(weights)
  await page.waitForFunction(() => document.querySelectorAll('.maps canvas').length > 5)
  await page.getByRole('link', { name: 'Speech' }).click()
  await page.getByRole('button', { name: 'Record', exact: true }).waitFor()
}

async function writePictures(page, folder) {
  mkdirSync(folder, { recursive: true })
  for (const width of [1280, 360]) {
    await page.setViewportSize({ width, height: 900 })
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme })
      for (const part of PARTS) {
        await page.evaluate((name) => {
          location.hash = name
        }, part)
        await page.waitForTimeout(300)
        await page.screenshot({ path: join(folder, `${part}-${width}-${colorScheme}.png`), fullPage: true })
      }
    }
  }
}
