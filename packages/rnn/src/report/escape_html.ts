import { checkArguments, entryOf, TEXT, visibleLines } from '@cudnn-rnn/canonical/rules'

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
])

/**
 * `text` escaped for HTML text and quoted attributes; controls are shown, line ends stay.
 *
 * @example
 * ```ts
 * import { escapeHtml } from '@cudnn-rnn/rnn/report'
 *
 * console.log(escapeHtml('a < b & "c"')) // a &lt; b &amp; &quot;c&quot;
 * ```
 */
export function escapeHtml(text: string): string {
  checkArguments('escape HTML', { text }, { text: TEXT })
  return visibleLines(text).replaceAll(/[&<>"]/g, (character) => entryOf(ENTITIES, character))
}
