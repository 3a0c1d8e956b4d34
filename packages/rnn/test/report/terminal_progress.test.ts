import { PassThrough } from 'node:stream'
import { expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { TerminalProgress } from '../../src/report/index.js'

function show(terminal: { isTTY?: boolean; columns?: number }): string {
  const stream = Object.assign(new PassThrough(), { cursorTo: () => true, clearLine: () => true }, terminal)
  const progress = new TerminalProgress(stream as unknown as NodeJS.WriteStream, { total: 100 })
  const figures = ['loss 1.386', '12,345 chars/s']
  for (const step of [1, 2, 50, 51, 100]) progress.update(step, figures, step === 50)
  progress.stop()
  return String(stream.read() ?? '')
}

it('TerminalProgress prints plain lines into a file or pipe: the first, important ones, and the last', () => {
  expect(show({}).split('\n')).toEqual([
    'step 1/100  loss 1.386  12,345 chars/s',
    'step 50/100  loss 1.386  12,345 chars/s',
    'step 100/100  loss 1.386  12,345 chars/s',
    '',
  ])
})

it('TerminalProgress draws a bar with figures and time left on a terminal', () => {
  expect(show({ isTTY: true, columns: 80 })).toMatch(/100% {2}loss 1\.386 {2}12,345 chars\/s {2}\S+ left/)
})

it.each([10, 20, 40, 60, 70, 80, 90, 100, 110, 120])('TerminalProgress cuts no word at %i columns', (columns) => {
  // Without the moves of the cursor.
  const lines = show({ isTTY: true, columns })
    .split('\x1b')
    .map((text) => text.replace(/^\[[?\d]*[a-zA-Z]/, '').trim())
  const last = lines.findLast((line) => line.includes('100%')) ?? ''
  expect(last.length).toBeLessThan(columns)
  const figures = 'loss 1.386  12,345 chars/s'
  if (columns >= 40) expect(last).toContain(`100%  ${figures}`)
  if (columns >= 60) expect(last).toMatch(/^[█░]{4,24} 100% {2}.* left$/)
})

it('TerminalProgress prints a line at most every five seconds', () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
  try {
    const lines: string[] = []
    const progress = new TerminalProgress({ write: (line) => lines.push(line) }, { total: 9 })
    for (const step of [1, 2, 3, 4]) {
      progress.update(step, [])
      vi.setSystemTime(Date.now() + 2500)
    }
    progress.stop()
    expect(lines).toEqual(['step 1/9  \n', 'step 3/9  \n'])
  } finally {
    vi.useRealTimers()
  }
})

it('TerminalProgress shows control characters of its figures', () => {
  const lines: string[] = []
  new TerminalProgress({ write: (line) => lines.push(line) }, { total: 1 }).update(1, ['a\x1b[2J', 'b\n'])
  expect(lines).toEqual(['step 1/1  a\\x1b[2J  b\\n\n'])
})

it.each<[string, unknown, unknown, string]>([
  ['a stream that cannot be written', {}, { total: 1 }, 'ERR_INVALID_ARGUMENT'],
  ['a total below 0', { write: () => {} }, { total: -1 }, 'ERR_INVALID_OPTION'],
  ['half a step done', { write: () => {} }, { total: 1, done: 0.5 }, 'ERR_INVALID_OPTION'],
  ['no total', { write: () => {} }, {}, 'ERR_INVALID_OPTION_TYPE'],
  ['another name', { write: () => {} }, { total: 1, steps: 3 }, 'ERR_UNKNOWN_OPTION'],
])('TerminalProgress refuses %s', (_, stream, options, code) => {
  expect(() => new TerminalProgress(stream as never, options as never)).toThrow(coded(code))
})
