import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, expect, it, vi } from 'vitest'
import { fit } from '../../src/index.js'
import { outputOf, ProgressLine } from '../../src/loop/progress_line.js'
import { linearTask, MemorySaver } from './linear_task.js'

const REPORT = { step: 1, loss: 0.5, learningRate: 0.1, gradientNorm: 1, skipped: false, seconds: 0.1 }
const SHOWN = { maxSteps: 100, watched: 'loss', best: null }

afterEach(() => vi.restoreAllMocks())

/** A terminal that keeps the written texts. */
function terminal(columns: number, env: Record<string, string> = {}) {
  const written: string[] = []
  return { written, host: { stdout: { isTTY: true, columns, write: (text: string) => written.push(text) }, env } }
}

it('fit gives the lines of its run to a function, the first and the last among them', async () => {
  using backend = openReferenceBackend()
  const lines: string[] = []
  const { options } = linearTask(backend, new MemorySaver(backend), {
    progress: (line) => lines.push(line),
    evaluate: async () => ({ error: 2, loss: 3 }),
    earlyStopping: { metric: 'loss' },
  })
  await fit(options)
  expect(lines[0]).toMatch(/^step 1\/60 {2}loss \d\.\d{4}/)
  expect(lines.at(-1)).toMatch(
    /^step 60\/60 {2}.*held-out loss 3\.0000 \(best 3\.0000 at step \d+\) {2}held-out error 2/,
  )
})

it('fit prints nothing by default outside a terminal, and lines if it is asked to', async () => {
  using backend = openReferenceBackend()
  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  await fit(linearTask(backend, new MemorySaver(backend), {}).options)
  expect(log).not.toHaveBeenCalled()
  await fit(linearTask(backend, new MemorySaver(backend), { progress: true }).options)
  expect(log).toHaveBeenLastCalledWith(expect.stringMatching(/^step 60\/60 /))
})

it.each([
  ['on in a terminal', undefined, false, {}, true],
  ['off beside onStep', undefined, true, {}, false],
  ['on beside onStep if asked', true, true, {}, true],
  ['off if asked', false, false, {}, false],
  ['off in a terminal without moves of the cursor', undefined, false, { TERM: 'dumb' }, false],
])('outputOf is %s', (_, progress, hasOnStep, env, expected) => {
  expect(outputOf(progress, hasOnStep, terminal(80, env as Record<string, string>).host) !== undefined).toBe(expected)
})

it.each([20, 40, 60, 80, 120])('ProgressLine cuts no word and fits %i columns', (columns) => {
  const { host, written } = terminal(columns)
  const line = new ProgressLine(outputOf(true, false, host)!)
  line.update(REPORT, SHOWN)
  line.update({ ...REPORT, step: 100 }, SHOWN)
  line.stop()
  expect(written.at(-1)).toBe('\n')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the moves of the cursor
  const shown = written.map((text) => text.replace(/^\r|\x1b\[K$|\n/g, '')).filter((text) => text !== '')
  for (const text of shown) expect(text.length).toBeLessThan(columns)
  if (columns >= 40) expect(shown.at(-1)).toContain('step 100/100  loss 0.5000')
  if (columns >= 60) expect(shown.at(-1)).toMatch(/^█{4,24} step 100\/100 {2}loss 0\.5000 {2}0 s left$/)
})

it('ProgressLine names skipped updates, and shows control characters of names', () => {
  const lines: string[] = []
  const line = new ProgressLine(outputOf((text) => lines.push(text), false)!)
  line.update(
    { ...REPORT, skipped: true, metrics: { 'a\x1b[2J': Number.NaN } },
    { ...SHOWN, maxSteps: Number.MAX_SAFE_INTEGER },
  )
  line.stop()
  expect(lines).toEqual(['step 1  update skipped: gradients are not finite  held-out a\\x1b[2J NaN'])
})
