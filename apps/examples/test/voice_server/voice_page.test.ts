import { existsSync } from 'node:fs'
import { chromium } from 'playwright'
import { describe, expect, it } from 'vitest'
import { VoiceServer } from '../../src/voice_server/voice_server.js'
import { energyPool } from './energy_pool.js'

const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium'
const isThere = existsSync(executablePath)

describe.skipIf(!isThere)(
  `the page of the voice server${isThere ? '' : ` (skipped: no Chromium at ${executablePath})`}`,
  () => {
    it('shows speech of a microphone live', async () => {
      const server = new VoiceServer({ pool: energyPool() })
      const port = await server.listen(0)
      // Chromium's fake microphone beeps once a second.
      const browser = await chromium.launch({
        executablePath,
        args: [
          '--no-sandbox',
          '--disable-gpu',
          '--use-fake-ui-for-media-stream',
          '--use-fake-device-for-media-stream',
          '--autoplay-policy=no-user-gesture-required',
        ],
      })
      try {
        const page = await browser.newPage()
        const errors: unknown[] = []
        page.on('pageerror', (error) => errors.push(error))
        await page.goto(`http://127.0.0.1:${port}/`)
        await page.click('#toggle')
        await page.waitForSelector('#log li:nth-child(2)', { timeout: 100_000 })
        const log = await page.locator('#log li').allTextContents()
        expect(log.at(-1)).toMatch(/^speech from \d+\.\d\d s$/)
        expect(log.at(-2)).toMatch(/^silence from \d+\.\d\d s$/)
        expect(await page.evaluate(drawnPixels)).toBeGreaterThan(0)
        await page.click('#toggle')
        await page.waitForFunction(() => document.querySelector('#state')?.textContent === 'idle')
        expect(errors).toEqual([])
      } finally {
        await browser.close()
        await server.close(0)
      }
    })
  },
)

/** Runs in the page. */
function drawnPixels(): number {
  const chart = document.querySelector('canvas')!
  const { data } = chart.getContext('2d')!.getImageData(0, 0, chart.width, chart.height)
  return data.filter((value, index) => index % 4 === 3 && value > 0).length
}
