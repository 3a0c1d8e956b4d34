import { afterEach, beforeEach, expect, it, vi } from 'vitest'

beforeEach(() => vi.resetModules())
afterEach(() => {
  vi.unstubAllEnvs()
  Object.defineProperties(process.stdout, { isTTY: { value: isTerminal, configurable: true, writable: true } })
})
const isTerminal = process.stdout.isTTY

it.each([
  ['a terminal', true, {}, true],
  ['a file or a pipe', false, {}, false],
  ['a file, in continuous integration', false, { CI: 'true' }, false],
  ['a dumb terminal', true, { TERM: 'dumb' }, false],
  ['a terminal with NO_COLOR', true, { NO_COLOR: '1' }, false],
  ['a file with FORCE_COLOR', false, { FORCE_COLOR: '1' }, true],
])('%s', async (_, isTTY, variables, isColored) => {
  const none = { CI: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined, TERM: 'xterm' }
  for (const [name, value] of Object.entries({ ...none, ...variables })) vi.stubEnv(name, value)
  Object.defineProperties(process.stdout, { isTTY: { value: isTTY, configurable: true, writable: true } })
  const { colors } = await import('../src/colors.js')
  expect(colors.bold('text')).toBe(isColored ? '\u001b[1mtext\u001b[22m' : 'text')
})
