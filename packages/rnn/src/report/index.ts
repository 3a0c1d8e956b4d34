/**
 * Output of a training run: progress on a terminal, charts, and self-contained HTML pages.
 *
 * @example
 * ```ts
 * import type { StepReport } from '@cudnn-rnn/rnn'
 * import { htmlPage, tableHtml, tableText, trainingSections } from '@cudnn-rnn/rnn/report'
 *
 * const reports: StepReport[] = [3, 2, 1.5].map((loss, k) => ({
 *   step: k + 1, loss, learningRate: 0.01, gradientNorm: 1, skipped: false, seconds: 0.1,
 * }))
 * const table = { header: ['model', 'error'], rows: [['LSTM', '0.42'], ['baseline', '0.97']], best: 0 }
 * const page = htmlPage({
 *   title: 'A forecast',
 *   resultHtml: '<b>0.42</b>: less than half of the baseline',
 *   sections: [
 *     { heading: 'Result', html: tableHtml(table) },
 *     ...trainingSections({ reports, lossLabel: 'loss', itemsPerStep: 32, itemName: 'windows' }),
 *   ],
 * })
 * console.log(page.includes('<script')) // false
 * console.log(tableText(table))
 * ```
 * @packageDocumentation
 */

export { escapeHtml } from './escape_html.js'
export { gateHistograms } from './gate_histograms.js'
export { htmlPage, type Page, type PageSection } from './html_page.js'
export { type ImageAxis, type ImageChartOptions, imageChart } from './image_chart.js'
export { type LineChartOptions, lineChart, type Point, type Series } from './line_chart.js'
export { type ResultTable, settingsHtml, tableHtml, tableText } from './result_table.js'
export { type ProgressOptions, type ProgressStream, TerminalProgress } from './terminal_progress.js'
export { type TrainingCurves, trainingSections } from './training_sections.js'
