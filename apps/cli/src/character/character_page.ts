import {
  escapeHtml,
  htmlPage,
  type ResultTable,
  settingsHtml,
  tableHtml,
  trainingSections,
} from '@cudnn-rnn/rnn/report'
import type { StepReport } from '@cudnn-rnn/rnn'
import type { GateWeights } from '@cudnn-rnn/rnn/train'
import { executorName } from '../executor_line.js'
import type { Sample, TrainingRun } from './training_run.js'

/** Bits per character on the held-out text at the last evaluation; undefined before the first. */
export function heldOutBits(reports: readonly StepReport[]): number | undefined {
  return reports.findLast(({ metrics }) => metrics !== undefined)?.metrics?.['heldOutBits']
}

/** The model beside its baselines, in a table that an outsider can read. */
export function characterTable({ settings }: TrainingRun, bits: number): ResultTable {
  const { bigram, trigram } = settings.baselines
  const { numLayers, numUnits } = settings.sizes
  const all = [bits, trigram, bigram]
  const names = [`CudnnLSTM ${numLayers} × ${numUnits}`, 'trigram model', 'bigram model']
  return {
    header: ['model', 'bits per character', 'against bigram'],
    rows: all.map((value, k) => {
      const difference = value - bigram
      return [
        names[k],
        value.toFixed(3),
        k === 2 ? '' : `${difference < 0 ? '−' : '+'}${Math.abs(difference).toFixed(3)}`,
      ]
    }),
    best: all.indexOf(Math.min(...all)),
    ours: 0,
  }
}

/** The report of a run: result, sample, training, settings. */
export function characterPage(
  run: TrainingRun,
  reports: readonly StepReport[],
  sampled: Sample | undefined,
  gates: readonly GateWeights[],
): string {
  const { settings, corpus, backend } = run
  const { plan, sizes, baselines } = settings
  const bits = heldOutBits(reports)
  const result = bits === undefined ? [] : [{ heading: 'Result', html: tableHtml(characterTable(run, bits)) }]
  const count = (n: number) => n.toLocaleString('en-US')
  return htmlPage({
    title: `A character model of ${corpus.name}`,
    resultHtml: resultHtml(bits, baselines),
    sections: [
      ...result,
      ...(sampled === undefined ? [] : [sampleSection(sampled)]),
      ...trainingSections({
        reports,
        lossLabel: 'bits per character',
        lossScale: 1 / Math.LN2,
        metric: 'heldOutBits',
        metricLabel: 'held-out text',
        rules: [
          { y: baselines.bigram, text: `bigram ${baselines.bigram.toFixed(2)}` },
          { y: baselines.trigram, text: `trigram ${baselines.trigram.toFixed(2)}` },
        ],
        itemsPerStep: plan.time * plan.batch,
        itemName: 'characters',
        gates,
      }),
      {
        heading: 'Settings',
        html: settingsHtml([
          ['Text', `${corpus.name}, ${count(corpus.train.length)} characters, ${corpus.vocabulary.size} different`],
          ['Held out', `${count(corpus.heldOut.length)} characters at the end`],
          [
            'Model',
            `embedding ${sizes.embeddingSize}, CudnnLSTM ${sizes.numLayers} × ${sizes.numUnits}, dropout ${sizes.dropout}`,
          ],
          [
            'Training',
            `${reports.length} of ${plan.steps} steps of ${plan.batch} × ${plan.time} characters, Adam at ${plan.learningRate}`,
          ],
          ['Executor', executorName(backend)],
          ['Seed', String(plan.seed)],
        ]),
      },
    ],
  })
}

function resultHtml(bits: number | undefined, { bigram, trigram }: { bigram: number; trigram: number }): string {
  const baselines = `trigram model's ${trigram.toFixed(3)} and the bigram model's ${bigram.toFixed(3)}`
  if (bits === undefined) return `Not evaluated yet; to beat are the ${baselines} bits per character.`
  const side = bits < trigram ? 'below' : bits < bigram ? 'between' : 'above'
  return `<b>${bits.toFixed(3)} bits per character</b> on text it never saw: ${side} the ${baselines}.`
}

function sampleSection({ prompt, text }: Sample) {
  const shown = prompt.trim() === '' ? escapeHtml(text.trimStart()) : `<b>${escapeHtml(prompt)}</b>${escapeHtml(text)}`
  const html = `<blockquote>${shown}</blockquote>`
  return { heading: 'Sample', html }
}
