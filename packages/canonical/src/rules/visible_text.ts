/**
 * Characters that a terminal, a page or a log would interpret instead of showing: C0 and C1 controls (line ends and escape sequences among
 * them), line and paragraph separators, controls of the direction of text, invisible format characters, and halves of
 * surrogate pairs.
 */
const OBEYED =
  /[\p{Cc}\u2028\u2029\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}\p{Cs}]/gu

const SHORT: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** A message has a rule and some values; longer ones contain text from a file. */
const LONGEST_MESSAGE = 2000

/**
 * `text` from outside (a name in a file, a message that quotes one) in printable form: control characters are shown in
 * the notation of JavaScript, such as `\n`, `\x1b`, `\u202e`.
 */
export function visibleText(text: string): string {
  return text.replace(OBEYED, escaped)
}

/** {@link visibleText} that keeps line ends and tabs: for text of several lines, such as generated text. */
export function visibleLines(text: string): string {
  return text.replace(OBEYED, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  )
}

/** `value` as printable JSON: control characters that JSON does not escape become `\u....`. */
export function visibleJson(value: unknown): string {
  return JSON.stringify(value).replace(OBEYED, (character) => {
    return Array.from({ length: character.length }, (_, unit) => unicodeEscape(character.charCodeAt(unit))).join('')
  })
}

/** {@link visibleText} for messages of errors: of a long one the middle, where names are, is left out. */
export function visibleMessage(text: string): string {
  if (text.length <= LONGEST_MESSAGE) return visibleText(text)
  const half = LONGEST_MESSAGE / 2
  const left = text.length - LONGEST_MESSAGE
  return visibleText(`${text.slice(0, half)}… (${left} characters) …${text.slice(-half)}`)
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0
  const hex = code.toString(16)
  if (code > 0xffff) return `\\u{${hex}}`
  return SHORT.get(character) ?? (code > 0xff ? unicodeEscape(code) : `\\x${hex.padStart(2, '0')}`)
}

function unicodeEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
