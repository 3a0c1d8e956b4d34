import { render } from 'preact'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { cdp, page, userEvent } from 'vitest/browser'
import tagger from '../../../fixtures/interop/pytorch/tagger.safetensors?url'
import { App } from '../src/app.js'
import '../src/style.css'

let root: HTMLElement

beforeEach(() => {
  location.hash = ''
  root = document.body.appendChild(document.createElement('div'))
  render(<App />, root)
})

afterEach(() => {
  vi.restoreAllMocks()
  // Ends the workers.
  render(null, root)
  root.remove()
})

function visible<Kind extends HTMLElement>(selector: string, text = ''): Kind {
  const found = [...root.querySelectorAll<Kind>(selector)].find(
    (element) => element.closest('[hidden]') === null && element.textContent?.includes(text),
  )
  if (found === undefined) throw new Error(`The page has no ${selector} ${text}`)
  return found
}

const step = () => Number(visible('[data-step]').dataset['step'])

it('trains in a worker until the stop button, then writes and shows the gates', async () => {
  visible('button', 'Train').click()
  await vi.waitFor(() => expect(step()).toBeGreaterThan(2), { timeout: 30_000 })
  expect(visible('.plot canvas').clientWidth).toBeGreaterThan(100)
  visible('button', 'Stop').click()
  await vi.waitFor(() => visible('h3', 'Let it write'), { timeout: 10_000 })
  const stopped = step()
  expect(stopped).toBeLessThan(1000)

  visible('button', 'Write').click()
  await vi.waitFor(() => expect(visible('.written').textContent?.length).toBeGreaterThan(300), { timeout: 20_000 })
  await vi.waitFor(() => expect(visible<HTMLButtonElement>('button', 'Show').disabled).toBe(false))
  visible('button', 'Show').click()
  await vi.waitFor(() => expect(root.querySelectorAll('.scroll canvas')).toHaveLength(6))
  expect(step()).toBe(stopped)
})

it('shows a dropped weight file, runs it and converts it', async () => {
  location.hash = 'weights'
  const bytes = await (await fetch(tagger)).arrayBuffer()
  const dropped = new DataTransfer()
  dropped.items.add(new File([bytes], 'tagger.safetensors'))
  await vi.waitFor(() => visible('.drop'))
  visible('.drop').dispatchEvent(new DragEvent('drop', { dataTransfer: dropped, cancelable: true, bubbles: true }))
  await vi.waitFor(() => expect(visible('[role=status]').textContent).toContain('safetensors: 2 recurrent networks'), {
    timeout: 30_000,
  })
  await vi.waitFor(() => expect(root.querySelectorAll('.maps canvas').length).toBeGreaterThan(5))

  visible('button', 'Run').click()
  await vi.waitFor(() => visible('figcaption', 'ms for the sequence'), { timeout: 10_000 })

  const clicked: string[] = []
  vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(function (this: HTMLAnchorElement) {
    clicked.push(this.download)
  })
  await vi.waitFor(() => expect(visible<HTMLButtonElement>('button', 'Download').disabled).toBe(false))
  visible('button', 'Download').click()
  await vi.waitFor(() => expect(clicked).toEqual([expect.stringMatching(/\.safetensors$/)]), { timeout: 10_000 })
})

it('is used by the keyboard alone', async () => {
  const tabTo = async (text: string) => {
    for (let presses = 0; presses < 20; presses++) {
      await userEvent.tab()
      if (document.activeElement?.textContent === text) return
    }
    throw new Error(`No 20 presses of Tab reach ${text}`)
  }
  await tabTo('Train')
  await tabTo('Weights')
  await tabTo('Train')
  await userEvent.keyboard('{Enter}')
  await vi.waitFor(() => expect(step()).toBeGreaterThan(0), { timeout: 30_000 })
  await tabTo('Stop')
  await userEvent.keyboard(' ')
  await vi.waitFor(() => visible('h3', 'Let it write'), { timeout: 10_000 })
})

it.each(['light', 'dark'] as const)('fits 360 pixels in %s mode, with the colors of the mode', async (mode) => {
  await page.viewport(360, 740)
  const session = cdp() as unknown as { send(method: string, params: object): Promise<void> }
  await session.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: mode }] })
  for (const part of ['train', 'weights']) {
    location.hash = part
    await vi.waitFor(() => expect(visible('[aria-current=page]').textContent?.toLowerCase()).toBe(part))
    expect(document.documentElement.scrollWidth).toBeLessThanOrEqual(360)
    const [red = 0] = getComputedStyle(document.body).backgroundColor.match(/\d+/g)!.map(Number)
    expect(red < 128).toBe(mode === 'dark')
  }
})
