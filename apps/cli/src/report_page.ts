import { escapeHtml } from '@cudnn-rnn/report'
import { lossChart } from './loss_chart.js'
import type { StepRecord } from './trainer.js'

export interface Report {
  readonly title: string
  readonly history: readonly StepRecord[]
  readonly bigramBits: number
  /** Empty text where nothing was sampled. */
  readonly sample: { readonly prompt: string; readonly text: string }
  /** Label and value of every setting worth showing. */
  readonly settings: readonly (readonly [string, string])[]
}

/** One self-contained HTML page: no scripts, no requests; follows the reader's light or dark setting. */
export function reportPage({ title, history, bigramBits, sample, settings }: Report): string {
  const heldOut = history.findLast((record) => record.heldOutBits !== undefined)?.heldOutBits
  const rows = settings.map(
    ([label, value]) => `<tr><th scope="row">${escapeHtml(label)}</th><td>${escapeHtml(value)}</td></tr>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>
:root { color-scheme: light dark; --ink: #1c2126; --paper: #fcfcfa; --rule: #d9dcd6; --train: #3a6ea5; --held-out: #b8461e; --baseline: #6b7280; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ea; --paper: #16191d; --rule: #353b42; --train: #7db2ea; --held-out: #f0906a; --baseline: #9aa4b0; } }
body { margin: 2.5rem auto; max-width: 56rem; padding: 0 1.25rem; font: 16px/1.55 system-ui, sans-serif; color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.1rem; margin: 2.25rem 0 .5rem; }
.result { font-size: 1.1rem; margin: 0 0 1.25rem; } .result b { color: var(--held-out); }
svg { max-width: 100%; height: auto; color: var(--ink); }
.legend span { display: inline-block; margin-right: 1.5rem; } .legend i { display: inline-block; width: 1.1rem; height: .2rem; margin-right: .4rem; vertical-align: middle; }
blockquote { margin: 0; padding: 1rem 1.25rem; border-left: 3px solid var(--train); background: color-mix(in srgb, var(--train) 8%, transparent); font: 1rem/1.6 Georgia, serif; white-space: pre-wrap; overflow-wrap: anywhere; }
blockquote b { font-weight: 600; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .3rem .75rem .3rem 0; border-bottom: 1px solid var(--rule); font-weight: normal; vertical-align: top; } th { width: 7rem; color: var(--baseline); }
</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
<p class="result">${resultLine(heldOut, bigramBits)}</p>
<p class="legend"><span><i style="background:var(--train)"></i>training (thin: each step; thick: mean of 20)</span><span><i style="background:var(--held-out)"></i>held-out text</span><span><i style="background:var(--baseline)"></i>character bigram model</span></p>
${lossChart(history, bigramBits)}
${sampleSection(sample)}
<h2>Settings</h2>
<table>${rows.join('')}</table>
</body>
</html>
`
}

function sampleSection({ prompt, text }: Report['sample']): string {
  if (text === '') return ''
  return `<h2>What the model writes</h2>
<blockquote><b>${escapeHtml(prompt)}</b>${escapeHtml(text)}</blockquote>`
}

function resultLine(heldOut: number | undefined, bigramBits: number): string {
  if (heldOut === undefined) return `Not evaluated yet; the character bigram model has ${bigramBits.toFixed(3)} bits.`
  const difference = bigramBits - heldOut
  const words = difference > 0 ? `${difference.toFixed(3)} below` : `${(-difference).toFixed(3)} above`
  return `<b>${heldOut.toFixed(3)} bits per character</b> on text it never saw: ${words} the character bigram model's ${bigramBits.toFixed(3)}.`
}
