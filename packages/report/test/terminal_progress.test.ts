import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { TerminalProgress } from '../src/index.js'

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
