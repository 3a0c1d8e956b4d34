import {
  escapeHtml,
  htmlPage,
  type ResultTable,
  settingsHtml,
  tableHtml,
  trainingSections,
} from '@cudnn-rnn/rnn/report'
import type { StepReport } from '@cudnn-rnn/rnn'
import { editDistance } from '@cudnn-rnn/rnn/ctc'
import { pngOf } from './generator/line_drawing.js'
import type { Line } from './line_batch.js'

/** Lines and the texts that the model read. */
export interface ReadLines {
  readonly heading: string
  readonly lines: readonly Line[]
  readonly read: readonly string[]
}

const STYLE = `.line { margin: 0 0 1.1em; } .line img { display: block; height: 42px; max-width: 100%; image-rendering: auto; }
.line code { font-size: 1.05em; } .line mark { background: none; color: var(--ours); font-weight: bold; } .line small { color: var(--baseline); }`

export function readerPage(options: {
  readonly result: ResultTable
  readonly resultHtml: string
  readonly parts: readonly ReadLines[]
  readonly settings: readonly (readonly [string, string])[]
  readonly reports: readonly StepReport[]
  readonly linesPerStep: number
}): string {
  const { result, resultHtml, parts, settings, reports, linesPerStep } = options
  const curves = { reports, lossLabel: 'CTC loss in nats per line', itemsPerStep: linesPerStep, itemName: 'lines' }
  return htmlPage({
    title: 'Handwriting, read by a bidirectional CudnnLSTM with CTC',
    style: STYLE,
    resultHtml,
    sections: [
      { heading: 'Letters read wrongly', html: tableHtml(result) },
      ...parts.map((part) => ({ heading: part.heading, html: linesHtml(part) })),
      ...trainingSections(curves),
      { heading: 'Settings', html: settingsHtml(settings) },
    ],
  })
}

function linesHtml({ lines, read }: ReadLines): string {
  return lines.map((line, index) => lineHtml(line, read[index])).join('\n')
}

/** The image, the text that the model read with wrong words marked, and the true text if it differs. */
function lineHtml({ image, text, font }: Line, read: string): string {
  const truth = new Set(text.split(' '))
  const words = read.split(' ').map((word) => (truth.has(word) ? escapeHtml(word) : `<mark>${escapeHtml(word)}</mark>`))
  const edits = editDistance([...read], [...text], { normalize: false })
  const note = edits === 0 ? escapeHtml(font) : `${escapeHtml(font)}: ${edits} wrong, it reads “${escapeHtml(text)}”`
  return `<div class="line"><img alt="${escapeHtml(text)}" src="${pngOf(image)}"><code>${words.join(' ')}</code> <small>${note}</small></div>`
}
