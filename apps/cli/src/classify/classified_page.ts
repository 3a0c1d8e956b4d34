import { escapeHtml, htmlPage, settingsHtml } from '@cudnn-rnn/rnn/report'
import { visibleText } from '@cudnn-rnn/canonical/rules'
import type { ClassifiedText } from './classified_text.js'
import { accuracyOf, type ConfusionMatrix, confusionHtml, totalOf } from './confusion_matrix.js'

/** Texts that the page lists, at most. */
const LISTED = 500

/** Characters of a text that are shown. */
const SHOWN = 160

/** Colors of classes, in their order; further classes share the last. The accent marks our results, on every page. */
const COLORS = ['--train', '--second', '--third', '--baseline']

const STYLE = `.bar { display: flex; height: .8rem; margin-top: .4rem; min-width: 9rem; border-radius: 2px; overflow: hidden; background: var(--rule); }
.bar i { display: block; height: 100%; } .shares { max-width: 40rem; } .shares .bar { min-width: 16rem; } .shares td:nth-child(2) { width: 100%; }
.texts td:first-child { color: var(--baseline); overflow-wrap: anywhere; min-width: 7.5rem; } .texts td.number { white-space: nowrap; } .texts q { quotes: none; overflow-wrap: anywhere; } .wrong { text-decoration: underline wavy var(--baseline); }
`

/** The page of classified texts: shares of the classes, and each text with its probabilities. */
export function classifiedPage(
  texts: readonly ClassifiedText[],
  labels: readonly string[],
  matrix: ConfusionMatrix | undefined,
  settings: readonly (readonly [string, string])[],
): string {
  const counts = labels.map((label) => texts.filter(({ result }) => result.label === label).length)
  const first = counts.indexOf(Math.max(...counts))
  const found = `<b>${counts[first]} of ${texts.length}</b> ${texts.length === 1 ? 'text is' : 'texts are'} ${escapeHtml(visibleText(labels[first]))}.`
  const right =
    matrix === undefined
      ? ''
      : ` ${(100 * accuracyOf(matrix)).toFixed(1)} % of the ${totalOf(matrix)} texts with a class have that class.`
  return htmlPage({
    title: 'Classified texts',
    resultHtml: found + right,
    style: STYLE,
    sections: [
      { heading: 'Classes', html: sharesHtml(labels, counts, texts.length) },
      ...(matrix === undefined ? [] : [{ heading: 'Confusion matrix', html: confusionHtml('network', matrix) }]),
      { heading: 'Texts', html: textsHtml(texts, labels) },
      { heading: 'Settings', html: settingsHtml(settings) },
    ],
  })
}

function colorOf(id: number): string {
  return `var(${COLORS[Math.min(id, COLORS.length - 1)]})`
}

function sharesHtml(labels: readonly string[], counts: readonly number[], total: number): string {
  const rows = labels.map((label, id) => {
    const bar = barHtml([{ share: counts[id] / total, color: colorOf(id) }])
    return `<tr><th scope="row">${escapeHtml(visibleText(label))}</th><td>${bar}</td><td class="number">${counts[id]}</td></tr>`
  })
  return `<table class="shares">${rows.join('')}</table>`
}

function textsHtml(texts: readonly ClassifiedText[], labels: readonly string[]): string {
  const legend = labels.map(
    (label, id) => `<span><i style="background:${colorOf(id)}"></i>${escapeHtml(visibleText(label))}</span>`,
  )
  const rows = texts.slice(0, LISTED).map(({ source, text, label, result }) => {
    const bar = barHtml(labels.map((each, id) => ({ share: result.probabilities[each], color: colorOf(id) })))
    const isWrong = label !== undefined && label !== result.label
    const name = `<td${isWrong ? ' class="wrong"' : ''}>${escapeHtml(visibleText(result.label))}</td>`
    const start = text.trim().replaceAll(/\s+/g, ' ')
    const shown = start.length > SHOWN ? `${start.slice(0, SHOWN)}…` : start
    return `<tr><td>${escapeHtml(visibleText(source))}</td><td>${bar}</td>${name}<td class="number">${(100 * result.probability).toFixed(1)} %</td><td><q>${escapeHtml(visibleText(shown))}</q></td></tr>`
  })
  const rest = texts.length > LISTED ? `<p>${texts.length - LISTED} more texts are in classes.csv.</p>` : ''
  return `<p class="legend">${legend.join('')}</p>\n<table class="texts">${rows.join('')}</table>${rest}`
}

function barHtml(parts: readonly { readonly share: number; readonly color: string }[]): string {
  const bars = parts.map(({ share, color }) => `<i style="width:${(100 * share).toFixed(2)}%;background:${color}"></i>`)
  return `<div class="bar">${bars.join('')}</div>`
}
