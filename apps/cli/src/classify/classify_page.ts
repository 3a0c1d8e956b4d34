import { htmlPage, type ResultTable, settingsHtml, tableHtml, trainingSections } from '@cudnn-rnn/rnn/report'
import type { GateWeights } from '@cudnn-rnn/rnn/train'
import { executorName } from '../executor_line.js'
import type { ClassifyResult, ClassifyRun } from './classify_run.js'
import { accuracyOf, confusionHtml, macroF1, totalOf } from './confusion_matrix.js'

const percent = (share: number) => `${(100 * share).toFixed(1)} %`

/** Every classifier's figures, in a table that an outsider can read. */
export function classifyTable({ classifiers }: ClassifyResult): ResultTable {
  const accuracies = classifiers.map(({ matrix }) => accuracyOf(matrix))
  return {
    header: ['classifier', 'right', 'wrong texts', 'macro F1'],
    rows: classifiers.map(({ name, matrix }, index) => {
      const total = totalOf(matrix)
      const wrong = Math.round(total * (1 - accuracies[index]))
      return [name, percent(accuracies[index]), `${wrong} of ${total}`, macroF1(matrix).toFixed(3)]
    }),
    best: accuracies.indexOf(Math.max(...accuracies)),
    ours: 0,
  }
}

/** One sentence that states whether the network was worth it. */
export function verdict({ classifiers }: ClassifyResult): string {
  const [network, baseline] = classifiers.map(({ matrix }) => accuracyOf(matrix)) as [number, number]
  const total = totalOf(classifiers[0].matrix)
  const texts = Math.round(Math.abs(network - baseline) * total)
  if (texts === 0) return 'The network does as well as the bag of words, no better.'
  const difference = `${Math.abs(100 * (network - baseline)).toFixed(1)} points (${texts} of ${total} texts)`
  if (network > baseline) return `The network beats the bag of words by ${difference}.`
  return `The network does not beat the bag of words: it is ${difference} below.`
}

/** The report of a run: result, confusion, training, settings. */
export function classifyPage(run: ClassifyRun, result: ClassifyResult, gates: readonly GateWeights[]): string {
  const { corpus, parts, classifier, settings, backend } = run
  const { sizes, encoding } = settings
  const { training, classifiers } = result
  return htmlPage({
    title: `Classes of ${corpus.name}`,
    resultHtml: `<b>${percent(accuracyOf(classifiers[0].matrix))} right</b> on ${parts.test.length} texts it never saw. ${verdict(result)}`,
    sections: [
      { heading: 'Result', html: tableHtml(classifyTable(result)) },
      {
        heading: 'Confusion matrix',
        html: classifiers
          .slice(0, 2)
          .map(({ name, matrix }) => confusionHtml(name, matrix))
          .join('\n'),
      },
      ...trainingSections({
        reports: training.reports,
        lossLabel: 'cross-entropy in nats',
        metric: 'loss',
        metricLabel: 'validation part',
        itemsPerStep: settings.batch,
        itemName: 'texts',
        gates,
      }),
      {
        heading: 'Settings',
        html: settingsHtml([
          [
            'Texts',
            `${corpus.name}: ${parts.train.length} to learn from, ${parts.validation.length} to stop by, ${parts.test.length} held out; classes ${classifier.labels.join(', ')}`,
          ],
          ['Words', `the first ${encoding.maxLength} of each text; ${classifier.encoding.words.size} are known`],
          [
            'Model',
            `embedding ${sizes.embeddingSize} → bidirectional Cudnn${sizes.cell.toUpperCase()} ${sizes.numLayers} × ${sizes.numUnits} → linear, mean over the text`,
          ],
          [
            'Training',
            `${training.step} of at most ${settings.steps} steps of ${settings.batch} texts, AdamW at ${settings.learningRate}, decay ${settings.weightDecay}; best at step ${training.best?.step}`,
          ],
          ['Executor', executorName(backend)],
          ['Seed', String(encoding.seed)],
        ]),
      },
    ],
  })
}
