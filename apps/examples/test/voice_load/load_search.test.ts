import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { LoadWindow } from '../../src/voice_load/load_client.js'
import { loadPage } from '../../src/voice_load/load_page.js'
import { isHeld, searchLoad } from '../../src/voice_load/load_search.js'
import { loadSection, writeLoadSection } from '../../src/voice_load/load_command.js'

/** A server that answers in time up to a number of streams. */
const server =
  (limit: number) =>
  async (streams: number): Promise<LoadWindow> => ({
    ...{ streams, p50Ms: 1, p99Ms: streams <= limit ? 5 : 80, sent: 100, answered: 100, lost: 0 },
  })

it('searchLoad finds the largest load to a tenth', async () => {
  for (const limit of [25, 61, 399, 1000, 5900]) {
    const { held, windows } = await searchLoad(25, 6000, server(limit), () => false)
    expect(held?.streams).toBeLessThanOrEqual(limit)
    expect(held?.streams).toBeGreaterThanOrEqual(limit / 1.1 - 1)
    expect(windows.length).toBeLessThan(16)
  }
})

it('searchLoad looks below its first load', async () => {
  expect((await searchLoad(25, 6000, server(3), () => false)).held?.streams).toBe(3)
})

it('searchLoad measures a load that misses once more', async () => {
  let windows = 0
  const steady = server(400)
  // One window in three is disturbed.
  const disturbed = async (streams: number) => ({
    ...(await steady(streams)),
    ...(windows++ % 3 === 0 && { p99Ms: 50 }),
  })
  const { held } = await searchLoad(25, 6000, disturbed, () => false)
  expect(held?.streams).toBeGreaterThanOrEqual(360)
})

it('searchLoad ends at its bounds', async () => {
  expect((await searchLoad(25, 100, server(5000), () => false)).held?.streams).toBe(100)
  expect((await searchLoad(25, 100, server(0), () => false)).held).toBeUndefined()
  let windows = 0
  const { held } = await searchLoad(25, 6000, server(5000), () => windows++ > 2)
  expect(held?.streams).toBe(400)
})

it('isHeld needs answers to all frames, in time, and every connection', () => {
  const window: LoadWindow = { streams: 1, p50Ms: 1, p99Ms: 20, sent: 100, answered: 99, lost: 0 }
  expect(isHeld(window)).toBe(true)
  for (const worse of [{ p99Ms: 20.1 }, { answered: 98 }, { lost: 1 }])
    expect(isHeld({ ...window, ...worse })).toBe(false)
})

it('loadPage states the ratio, baselines that were left out, and a loaded machine', async () => {
  const { held, windows } = await searchLoad(25, 6000, server(400), () => false)
  const implementation = (name: string, streams: number) => ({ name, label: name, held: streams, windows })
  const report = {
    ...{ date: '2026-01-01', machine: { cores: '2' }, loadBefore: 3 },
    implementations: [
      implementation('pool', held!.streams),
      implementation('onnx-sessions', 50),
      { name: 'sherpa', label: 'sherpa', leftOut: 'not installed', held: 0, windows: [] },
    ],
  }
  const page = loadPage(report)
  expect(page).toContain(`<b>${held!.streams} streams</b>`)
  expect(page).toContain(`${(held!.streams / 50).toFixed(1)} × as many`)
  expect(page).toContain('not installed')
  expect(page).toContain('The machine was loaded')
  expect(loadPage({ ...report, loadBefore: 0.1 })).not.toContain('The machine was loaded')
})

it('writeLoadSection replaces the results of a document and nothing else', async () => {
  const implementation = (name: string, held: number) => ({ name, label: name, held, windows: [] })
  const report = {
    ...{ date: '2026-01-01', machine: { cores: '2' }, loadBefore: 0 },
    implementations: [
      implementation('pool', 500),
      implementation('onnx-sessions', 100),
      { ...implementation('sherpa', 0), leftOut: 'not installed' },
    ],
  }
  const folder = await mkdtemp(join(tmpdir(), 'voice-load-'))
  try {
    const file = join(folder, 'streams.md')
    const links = { page: join(folder, 'results', 'a.html'), json: join(folder, 'results', 'a.json') }
    const section = loadSection(report, { page: 'results/a.html', json: 'results/a.json' })
    expect(section).toContain('| ≥ 4 × | 5.0 × |')
    expect(section).toContain('| sherpa | not installed |')
    await writeFile(file, 'before\n\n<!-- voice-load -->\nold\n<!-- /voice-load -->\n\nafter\n')
    const expected = `before\n\n<!-- voice-load -->\n${section}\n<!-- /voice-load -->\n\nafter\n`
    for (let run = 0; run < 2; run++) {
      await writeLoadSection(file, report, links)
      expect(await readFile(file, 'utf8')).toBe(expected)
    }
    await writeFile(file, 'before\n')
    await writeLoadSection(file, report, links)
    expect(await readFile(file, 'utf8')).toBe(`before\n\n<!-- voice-load -->\n${section}\n<!-- /voice-load -->\n`)
  } finally {
    await rm(folder, { recursive: true })
  }
})
