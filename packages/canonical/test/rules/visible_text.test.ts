import { describe, expect, it } from 'vitest'
import { visibleJson, visibleLines, visibleMessage, visibleText } from '../../src/rules/index.js'

describe('visibleText', () => {
  it.each([
    ['an escape sequence', '\x1b]0;owned\x07\x1b[2J', '\\x1b]0;owned\\x07\\x1b[2J'],
    ['a C1 control sequence', '\u009b31m', '\\x9b31m'],
    ['line ends', 'b\nfake row\r\n\u2028\u2029\v\f\u0085', 'b\\nfake row\\r\\n\\u2028\\u2029\\x0b\\x0c\\x85'],
    ['a tab, NUL and DEL', 'a\tb\0\x7f', 'a\\tb\\x00\\x7f'],
    ['directions', 'a\u202egnp.exe\u2066\u2069\u200f\u061c', 'a\\u202egnp.exe\\u2066\\u2069\\u200f\\u061c'],
    ['invisible characters', 'a\u200b\ufeff\u{e0041}', 'a\\u200b\\ufeff\\u{e0041}'],
    ['half of a surrogate pair', 'a\ud800', 'a\\ud800'],
  ])('shows %s', (_, text, shown) => {
    expect(visibleText(text)).toBe(shown)
  })

  it('leaves letters of every script, joiners and symbols as they are', () => {
    const text = 'lstm/kernel:0 C:\\weights é 漢字 עברית العربية 👩‍🔬 می‌خواهم “–”'
    expect(visibleText(text)).toBe(text)
  })

  it('leaves nothing that a terminal obeys, of all code points', () => {
    for (let code = 0; code < 0x11_0000; code++) {
      const shown = visibleText(String.fromCodePoint(code))
      if (shown.length > 0 && !/^[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]+$/u.test(shown)) expect(shown).toBe(code)
    }
  })
})

it('visibleLines keeps line ends and tabs alone', () => {
  expect(visibleLines('a\n\tb\r\x1b[1m')).toBe('a\n\tb\\r\\x1b[1m')
})

it('visibleJson is JSON of the same value', () => {
  const value = { 'a\u009b\u202e': ['\x1b\n\u2028\u{e0041}', 1, null] }
  expect(visibleJson(value)).toMatch(/^[ -~]*$/)
  expect(JSON.parse(visibleJson(value))).toEqual(value)
})

it('visibleMessage leaves out the middle of a long message', () => {
  const message = visibleMessage(`Cannot read \n${'x'.repeat(100_000)} as it is long: file.pt`)
  expect(message.length).toBeLessThan(2100)
  expect(message).toMatch(/^Cannot read \\nx.*… \(98036 characters\) ….*x as it is long: file\.pt$/)
})
