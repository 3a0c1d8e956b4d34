// `npm run test:site [-- --screenshots DIR]`: opens the built site in Chromium at two widths, light and dark, as a reader does:
// navigation, search, reference, charts, migration guides. Fails on errors of the console, on requests that fail or leave the
// site, and on content wider than the screen.
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { sitePages } from './pages.mjs'
import { serveFolder } from './static_server.mjs'

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
const site = fileURLToPath(new URL('.', import.meta.url))
const built = join(site, '.vitepress/dist')
const WIDTHS = [1280, 360]
const THEMES = ['light', 'dark']
/** Bytes: a reader's first query waits for it. */
const LARGEST_INDEX = 1e6

const { values } = parseArgs({ options: { screenshots: { type: 'string' } } })
if (!existsSync(executablePath)) {
  console.log(`The site is not opened: no Chromium at ${executablePath}. Install it or set CHROMIUM_PATH.`)
  process.exit(0)
}
if (!existsSync(join(built, 'index.html'))) {
  console.error('Build the site first: npm run site')
  process.exit(1)
}
if (values.screenshots !== undefined) mkdirSync(values.screenshots, { recursive: true })

const problems = []
const chunks = join(built, 'assets/chunks')
const index = readdirSync(chunks).find((file) => file.startsWith('@localSearchIndex'))
const { size } = statSync(join(chunks, index))
if (size > LARGEST_INDEX) problems.push(`The index of the search has ${size} bytes: ${LARGEST_INDEX} at most`)
const server = await serveFolder(built)
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
try {
  for (const width of WIDTHS) {
    for (const theme of THEMES) await visit({ width, theme })
  }
  await checkEveryPage()
} finally {
  await browser.close()
  server.close()
}
if (problems.length > 0) {
  console.error([...new Set(problems)].join('\n'))
  process.exit(1)
}

/** A reader's way through the site. */
async function visit({ width, theme }) {
  const name = `${width}px, ${theme}`
  const page = await openPage(name, { viewport: { width, height: 800 }, colorScheme: theme })
  const narrow = width < 768
  const step = async (title, heading) => {
    await expectHeading(page, name, heading)
    await checkLayout(page, name)
    if (values.screenshots === undefined) return
    await page.screenshot({ path: join(values.screenshots, `${width}_${theme}_${title}.png`), fullPage: true })
  }
  try {
    await page.goto(server.url)
    const isDark = await page.evaluate(() => document.documentElement.classList.contains('dark'))
    if (isDark !== (theme === 'dark')) problems.push(`${name}: the page does not follow the reader's theme`)
    await step('home', 'cudnn-rnn')

    await page.getByRole('link', { name: 'First model in five minutes' }).click()
    await step('guide', 'Get started')

    if (narrow) {
      await page.locator('.VPLocalNav button.menu').click()
      await page.waitForTimeout(400) // of the sidebar's movement
      if (values.screenshots) await page.screenshot({ path: join(values.screenshots, `${width}_${theme}_sidebar.png`) })
    }
    await page.locator('.VPSidebar').getByRole('link', { name: 'From TensorFlow.js' }).click()
    await step('migration', 'From TensorFlow.js')
    await checkColumns(page, name, narrow)

    await page.goto(`${server.url}/guide/speed`)
    await step('speed', 'How fast is it for your size')
    await checkCalculator(page, name)

    await follow(page, narrow, 'Benchmarks')
    await step('benchmarks', 'Benchmark results')
    await page.locator('.vp-doc').getByRole('link', { name: 'The space of sizes', exact: true }).click()
    await step('space', 'The space of sizes')
    await checkCharts(page, name, narrow)

    await follow(page, narrow, 'API')
    await step('api', 'API reference')
    await page.locator('.vp-doc').getByRole('link', { name: '@cudnn-rnn/rnn', exact: true }).click()
    await step('api_package', '@cudnn-rnn/rnn')
    await page.locator('.vp-doc').getByRole('link', { name: 'CudnnLSTM', exact: true }).first().click()
    await step('api_class', 'Class: CudnnLSTM')

    await checkFirstHits(page, name, 'lstm', ['CudnnLSTM', 'cudnnLSTM()'])
    await search(page, name, 'ERR_WEIGHTS_OTHER_FUNCTION', '/errors')
    await step('errors', 'Errors')
    await search(page, name, 'beam search', '/ctc')
    await checkLayout(page, name)
    console.log(`${name}: opened, navigated and searched`)
  } catch (error) {
    problems.push(`${name}, ${page.url()}: ${error.message}`)
  } finally {
    await page.context().close()
  }
}

/** Every page outside the reference, and each kind of page in it, on the narrow screen; each layout on a tablet. */
async function checkEveryPage() {
  const sources = sitePages(join(site, '../..')).flatMap(({ pages }) => pages.map((each) => each.page))
  const paths = sources.map((each) => `/${each.replace(/(index)?\.md$/, '')}`)
  const reference = ['rnn/', 'cells/classes/LSTMCell', 'rnn/functions/openBackend', 'ops/interfaces/DenseOps']
  const references = reference.map((each) => `/api/@cudnn-rnn/${each}`)
  await openEach(360, ['/', '/changelog', ...paths, ...references])
  await openEach(768, ['/', '/guide/speed', '/bench/space', ...references])
}

async function openEach(width, paths) {
  const name = `${width}px`
  const page = await openPage(name, { viewport: { width, height: 800 } })
  for (const path of paths) {
    await page.goto(server.url + path)
    await checkLayout(page, name)
  }
  await page.context().close()
  console.log(`${name}: ${paths.length} pages opened`)
}

async function openPage(name, options) {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const note = (text) => problems.push(`${name}, ${page.url()}: ${text}`)
  page.on('console', (message) => message.type() === 'error' && note(`console: ${message.text()}`))
  page.on('pageerror', (error) => note(error.message))
  page.on('request', (request) => {
    const url = request.url()
    if (!url.startsWith(server.url) && !url.startsWith('data:') && !url.startsWith('blob:'))
      note(`request to another host: ${url}`)
  })
  page.on('response', (response) => response.status() >= 400 && note(`${response.status()} of ${response.url()}`))
  page.on('requestfailed', (request) => {
    // A click cancels prefetches.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED') note(`${request.failure()?.errorText}: ${request.url()}`)
  })
  page.setDefaultTimeout(20_000)
  return page
}

/** A link of the bar at the top, behind a button on a narrow screen. */
async function follow(page, narrow, text) {
  if (narrow) await page.locator('button.VPNavBarHamburger').click()
  await page
    .locator(narrow ? '.VPNavScreen' : '.VPNavBarMenu')
    .getByRole('link', { name: text, exact: true })
    .click()
}

/** The names that most programs use are the first hits. */
async function checkFirstHits(page, name, words, titles) {
  await page.locator('.VPNavBarSearch button').first().click()
  await page.locator('.VPLocalSearchBox input').fill(words)
  const hits = page.locator('.VPLocalSearchBox .result .titles')
  await hits.nth(titles.length - 1).waitFor()
  const first = (await hits.allInnerTexts()).slice(0, titles.length)
  for (const title of titles) {
    if (!first.some((hit) => hit.trim().endsWith(` ${title}`)))
      problems.push(`${name}: "${words}" finds ${first.join(', ')} before ${title}`)
  }
  await page.keyboard.press('Escape')
}

/** Searches, and follows the first hit in a page. */
async function search(page, name, words, target) {
  await page.locator('.VPNavBarSearch button').first().click()
  await page.locator('.VPLocalSearchBox input').fill(words)
  await page.locator('.VPLocalSearchBox .result').first().waitFor()
  const hit = page.locator(`.VPLocalSearchBox .result[href^="${target}"]`).first()
  await hit.click().catch(() => problems.push(`${name}: no hit of "${words}" in ${target}`))
  await page.waitForURL((url) => url.pathname === target, { waitUntil: 'commit' })
}

async function expectHeading(page, name, text) {
  const heading = page.locator('h1', { hasText: text }).first()
  await heading.waitFor().catch(() => problems.push(`${name}, ${page.url()}: no heading "${text}"`))
}

/** No content is wider than the screen, except in boxes that scroll. */
async function checkLayout(page, name) {
  await page.waitForLoadState('networkidle')
  const wide = await page.evaluate(() => {
    const scrolls = (element) => {
      for (let at = element; at !== null && at !== document.body; at = at.parentElement) {
        if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(at).overflowX)) return true
      }
      return false
    }
    if (document.documentElement.scrollWidth > window.innerWidth) return ['the page']
    return [...document.querySelectorAll('.vp-doc *, .VPHome *')]
      .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 1 && !scrolls(element))
      .slice(0, 3)
      .map((element) => `<${element.localName} class="${element.getAttribute('class') ?? ''}">`)
  })
  for (const element of wide) problems.push(`${name}, ${page.url()}: ${element} is wider than the screen`)
}

/** Old and new code: side by side if there is space, otherwise one below the other. */
async function checkColumns(page, name, narrow) {
  const pairs = await page
    .locator('.columns')
    .evaluateAll((all) =>
      all.map(({ children }) =>
        [...children].map((child) => child.getBoundingClientRect()).map(({ x, y }) => ({ x, y })),
      ),
    )
  const fits = ([before, after]) => (narrow ? after.y > before.y : after.y === before.y && after.x > before.x)
  if (pairs.length === 0 || !pairs.every(fits)) problems.push(`${name}: the columns of ${page.url()} are not in place`)
}

/** Four times the units take longer. */
async function checkCalculator(page, name) {
  const estimate = page.locator('.size-calculator .estimate')
  const [before, units] = [await estimate.innerText(), page.getByLabel('units H')]
  await units.fill(String(4 * Number(await units.inputValue())))
  if ((await estimate.innerText()) === before) problems.push(`${name}: the calculator shows ${before} for any size`)
}

/** One drawing of each chart is seen, with text that can be read. */
async function checkCharts(page, name, narrow) {
  const charts = await page.locator('figure.chart').evaluateAll((figures) =>
    figures.map((figure) =>
      [...figure.querySelectorAll('svg')]
        .filter((svg) => svg.getBoundingClientRect().width > 0)
        .map((svg) => ({
          narrow: svg.classList.contains('narrow'),
          font: (svg.getBoundingClientRect().width / svg.viewBox.baseVal.width) * Number.parseFloat(svg.style.fontSize),
        })),
    ),
  )
  const isRead = ([chart, ...more]) => more.length === 0 && chart?.narrow === narrow && chart.font >= 10
  if (charts.length === 0 || !charts.every(isRead)) problems.push(`${name}: a chart of ${page.url()} cannot be read`)
}
