import { expect, it } from 'vitest'
import type { LoadWindow } from '../../src/voice_load/load_client.js'
import { loadPage } from '../../src/voice_load/load_page.js'
import { isHeld, searchLoad } from '../../src/voice_load/load_search.js'

/** A server that answers in time up to a number of streams. */
const server =
  (limit: number) =>
  async (streams: number): Promise<LoadWindow> => ({
    ...{ streams, p50Ms: 1, p99Ms: streams <= limit ? 5 : 80, sent: 100, answered: 100, lost: 0 },
  })

it('searchLoad finds the largest load to a tenth', async () => {
  for (const limit of [25, 61, 399, 1000]) {
    const { held, windows } = await searchLoad(25, 6000, server(limit), () => false)
    expect(held!.streams).toBeLessThanOrEqual(limit)
    expect(held!.streams).toBeGreaterThanOrEqual(limit / 1.1 - 1)
    expect(windows.length).toBeLessThan(14)
  }
})

it('searchLoad ends at its bounds', async () => {
  expect((await searchLoad(25, 100, server(5000), () => false)).held!.streams).toBe(100)
  expect((await searchLoad(25, 100, server(0), () => false)).held).toBeUndefined()
  let windows = 0
  const { held } = await searchLoad(25, 6000, server(5000), () => windows++ === 2)
  expect(held!.streams).toBe(50)
})

it('isHeld needs answers to all frames, in time, and every connection', () => {
  const window: LoadWindow = { streams: 1, p50Ms: 1, p99Ms: 20, sent: 100, answered: 99, lost: 0 }
  expect(isHeld(window)).toBe(true)
  for (const worse of [{ p99Ms: 20.1 }, { answered: 98 }, { lost: 1 }])
    expect(isHeld({ ...window, ...worse })).toBe(false)
})

it('loadPage states the ratio, peers that were left out, and a loaded machine', async () => {
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
