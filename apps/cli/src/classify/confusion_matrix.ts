import { escapeHtml, type ResultTable, tableHtml } from '@cudnn-rnn/rnn/report'

/** How often texts of each class were taken for each class: `counts[actual][predicted]`. */
export interface ConfusionMatrix {
  readonly labels: readonly string[]
  readonly counts: readonly (readonly number[])[]
}

export function confusionMatrix(
  labels: readonly string[],
  actual: readonly number[],
  predicted: readonly number[],
): ConfusionMatrix {
  const counts = labels.map(() => labels.map(() => 0))
  for (const [index, label] of actual.entries()) counts[label][predicted[index]]++
  return { labels, counts }
}

/** The number of texts. */
export function totalOf({ counts }: ConfusionMatrix): number {
  return counts.flat().reduce((sum, count) => sum + count, 0)
}

/** Share of the texts on the diagonal. */
export function accuracyOf(matrix: ConfusionMatrix): number {
  return matrix.counts.reduce((sum, row, label) => sum + row[label], 0) / totalOf(matrix)
}

/** Mean over the classes of the harmonic mean of precision and recall; a class that is never met counts 0. */
export function macroF1({ counts }: ConfusionMatrix): number {
  const scores = counts.map((row, label) => {
    const actual = row.reduce((sum, count) => sum + count, 0)
    const predicted = counts.reduce((sum, other) => sum + other[label], 0)
    return actual + predicted === 0 ? 0 : (2 * row[label]) / (actual + predicted)
  })
  return scores.reduce((sum, score) => sum + score, 0) / scores.length
}

/** Rows: true class; columns: predicted class. */
export function confusionTable({ labels, counts }: ConfusionMatrix): ResultTable {
  return {
    header: ['', ...labels.map((label) => `taken for ${label}`), 'recall'],
    rows: counts.map((row, label) => {
      const total = row.reduce((sum, count) => sum + count, 0)
      const recall = total === 0 ? '–' : `${((100 * row[label]) / total).toFixed(1)} %`
      return [`is ${labels[label]}`, ...row.map(String), recall]
    }),
  }
}

export function confusionHtml(name: string, matrix: ConfusionMatrix): string {
  return `<h3>${escapeHtml(name)}</h3>\n${tableHtml(confusionTable(matrix))}`
}
