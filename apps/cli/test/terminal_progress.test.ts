import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { TerminalProgress } from '../src/terminal_progress.js'

const record = (step: number) => ({ step, bits: 2, gradientNorm: 1, learningRate: 0.1 })

function show(terminal: { isTTY?: boolean; columns?: number }): string {
  const stream = Object.assign(new PassThrough(), { cursorTo: () => true, clearLine: () => true }, terminal)
  const progress = new TerminalProgress(stream as unknown as NodeJS.WriteStream, 100, 0)
  progress.update(record(1), 12_345)
  progress.update(record(2), 12_345)
  progress.update({ ...record(50), heldOutBits: 2.5 }, 12_345)
  progress.update(record(51), 12_345)
  progress.update(record(100), 12_345)
  progress.stop()
  return String(stream.read() ?? '')
}

describe('TerminalProgress', () => {
  it('prints plain lines into a file or pipe: the first, every evaluation and the last', () => {
    expect(show({}).split('\n')).toEqual([
      'step 1/100  loss 1.386 nats  2.000 bits/char  held-out –  12,345 chars/s',
      'step 50/100  loss 1.386 nats  2.000 bits/char  held-out 2.500  12,345 chars/s',
      'step 100/100  loss 1.386 nats  2.000 bits/char  held-out 2.500  12,345 chars/s',
      '',
    ])
  })

  it('fits loss, bits, speed and time left into the 80 columns of a terminal', () => {
    const shown = show({ isTTY: true, columns: 80 })
    expect(shown).toMatch(/100% {2}loss 1\.386 {2}2\.000 bits\/char {2}held-out 2\.500 {2}12,345 chars\/s {2}\S+ left/)
  })
})
