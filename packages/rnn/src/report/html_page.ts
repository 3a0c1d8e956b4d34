import { checkArguments, fields, listOf, optional, TEXT } from '@cudnn-rnn/canonical/rules'
import { CHART_STYLE } from './chart_sizes.js'
import { escapeHtml } from './escape_html.js'

/** A part of a page; `html` is inserted as it is. */
export interface PageSection {
  readonly heading: string
  readonly html: string
}

/** One self-contained page: no scripts, no requests; follows the reader's light or dark setting. */
export interface Page {
  readonly title: string
  /** The result in one sentence, as HTML; `<b>` has the color of our own results. */
  readonly resultHtml: string
  readonly sections: readonly PageSection[]
  /** CSS rules of this page alone, after all pages' rules. */
  readonly style?: string | undefined
}

const PAGE = fields({
  title: TEXT,
  resultHtml: TEXT,
  sections: listOf(fields({ heading: TEXT, html: TEXT })),
  style: optional(TEXT),
})

/**
 * The page as HTML text. Charts take their colors from its custom properties. Throws TypeError `ERR_INVALID_ARGUMENT`.
 *
 * @example
 * ```ts
 * import { writeFile } from 'node:fs/promises'
 * import { htmlPage, settingsHtml } from '@cudnn-rnn/rnn/report'
 *
 * const sections = [{ heading: 'Settings', html: settingsHtml([['units', '128']]) }]
 * const html = htmlPage({ title: 'Run 1', resultHtml: 'Loss <b>0.5</b>', sections })
 * await writeFile('run.html', html)
 * console.log(html.startsWith('<!doctype html>')) // true
 * ```
 */
export function htmlPage(page: Page): string {
  const { page: own } = checkArguments('make a page', { page }, { page: PAGE })
  const { title, resultHtml, sections, style = '' } = own
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>
:root { color-scheme: light dark; --ink: #1c2126; --paper: #fcfcfa; --rule: #d9dcd6; --ours: #b8461e; --train: #3a6ea5; --baseline: #6b7280; --second: #2c7a4b; --third: #8a5aa8; --band: #b8461e4d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --paper: #16191d; --rule: #353b42; --ours: #f0906a; --train: #7db2ea; --baseline: #9aa4b0; --second: #6cc793; --third: #bd93d8; --band: #f0906a59; } }
body { margin: 2.5rem auto; max-width: 56rem; padding: 0 1.25rem; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; } h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
.result { font-size: 1.1rem; margin: 0 0 1.25rem; } .result b { color: var(--ours); }
svg { max-width: 100%; height: auto; color: var(--ink); }
${CHART_STYLE}
.legend { margin: .5rem 0; } .legend span { display: inline-block; margin-right: 1.5rem; } .legend i { display: inline-block; width: 1.1rem; height: .2rem; margin-right: .4rem; vertical-align: middle; }
blockquote { margin: 0; padding: 1rem 1.25rem; border-left: 3px solid var(--train); background: color-mix(in srgb, var(--train) 8%, transparent); font: 1rem/1.6 Georgia, serif; white-space: pre-wrap; overflow-wrap: anywhere; }
details > summary { cursor: pointer; color: var(--train); }
table { border-collapse: collapse; } th, td { text-align: left; padding: .3rem 1.25rem .3rem 0; border-bottom: 1px solid var(--rule); font-weight: normal; vertical-align: top; } th { color: var(--baseline); } td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; } tr.ours td:first-child { color: var(--ours); } tr.best td { font-weight: 600; } tr.best td:first-child::after { content: ' (best)'; font-weight: normal; color: var(--baseline); }
@media (max-width: 45rem) { body { margin: 1.25rem auto; padding: 0 1rem; } table { display: block; overflow-x: auto; font-size: .875rem; } th, td { padding-right: .75rem; } }
${style}</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
<p class="result">${resultHtml}</p>
${sections.map(({ heading, html }) => `<h2>${escapeHtml(heading)}</h2>\n${html}`).join('\n')}
</body>
</html>
`
}
