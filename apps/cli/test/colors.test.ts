import { expect, it } from 'vitest'
import { colorsOf } from '../src/colors.js'

it.each([
  ['a terminal', true, {}, true],
  ['a file or a pipe', false, {}, false],
  ['a file, in continuous integration', false, { CI: 'true' }, false],
  ['a dumb terminal', true, { TERM: 'dumb' }, false],
  ['a terminal with NO_COLOR', true, { NO_COLOR: '1' }, false],
  ['a file with FORCE_COLOR', false, { FORCE_COLOR: '1' }, true],
])('%s', (_, isTTY, environment, isColored) => {
  const { bold } = colorsOf({ isTTY }, environment)
  expect(bold('text')).toBe(isColored ? '\u001b[1mtext\u001b[22m' : 'text')
})
