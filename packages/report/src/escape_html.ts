import { visibleLines } from '@cudnn-rnn/text'

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
])

/** `text` as it must stand in HTML text and quoted attributes; controls are shown, line ends stay. */
export function escapeHtml(text: string): string {
  return visibleLines(text).replaceAll(/[&<>"]/g, (character) => ENTITIES.get(character)!)
}
