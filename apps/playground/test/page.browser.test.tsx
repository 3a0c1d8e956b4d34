import { render } from 'preact'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { App } from '../src/app.js'
import '../src/style.css'

let root: HTMLElement

beforeEach(() => {
  location.hash = ''
  root = document.body.appendChild(document.createElement('div'))
  render(<App />, root)
})

afterEach(() => {
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
