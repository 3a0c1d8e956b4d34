import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { cpuUsage } from 'node:process'
import { TerminalProgress } from '@cudnn-rnn/rnn/report'
import { type Backend, cosineRate, Dataset, type LayerBatch, type LayersModel, type StepReport } from '@cudnn-rnn/rnn'
import { labelErrorRate } from '@cudnn-rnn/rnn/ctc'
import { MetricsFile, readMetrics } from '@cudnn-rnn/rnn/train'
import { LineDrawing } from './generator/line_drawing.js'
import { registerFonts, TRAINING_FONTS, UNSEEN_FONT } from './generator/line_fonts.js'
import { batchOf, type Line, randomLines } from './line_batch.js'
import { lineReader } from './line_reader.js'

export interface ReaderOptions {
  readonly directory: string
  readonly words: { readonly training: readonly string[]; readonly heldOut: readonly string[] }
  readonly steps: number
  readonly numUnits: number
  readonly numLayers: number
  readonly seed: number
}

export const BATCH = 24
const WIDTH = { from: 80, to: 220, shared: true }
/** Training begins with single words: where a letter ends is learned sooner from short lines. */
const FIRST_STEPS = 300
const FIRST_WIDTH = { from: 40, to: 70, shared: true }
const HELD_OUT_WIDTH = { from: 80, to: 300, shared: false }
/** Seeds from here on are for held-out lines. */
const HELD_OUT_SEED = 1e9

/** Lines that are not in the training data: other words, in the fonts of the training or in another one. */
export function heldOutLines(words: readonly string[], font: 'seen' | 'unseen', count: number): Line[] {
  const fonts = font === 'seen' ? TRAINING_FONTS : [UNSEEN_FONT]
  registerFonts(fonts)
  const seed = HELD_OUT_SEED + Number(font === 'unseen')
  return randomLines(new LineDrawing(), { words, fonts, count, seed, width: HELD_OUT_WIDTH })
}

/** Share of letters read wrongly. */
export function characterErrorRate(read: readonly string[], lines: readonly Line[]): number {
  return labelErrorRate(
    read.map((text) => [...text]),
    lines.map(({ text }) => [...text]),
  ).rate
}

/** Trains a reader, and resumes a training that was interrupted in the same directory. */
export async function trainReader(
  backend: Backend,
  options: ReaderOptions,
): Promise<{ readonly reader: LayersModel; readonly reports: readonly StepReport[]; readonly cpuSeconds: number }> {
  const { words, steps, seed } = options
  registerFonts(TRAINING_FONTS)
  const drawing = new LineDrawing()
  const reader = lineReader(backend, options)
  const data = Dataset.fromArray(Array.from({ length: steps }, (_, step) => step)).map((step): LayerBatch => {
    const isFirst = step < FIRST_STEPS
    const sizes = { count: isFirst ? 2 * BATCH : BATCH, width: isFirst ? FIRST_WIDTH : WIDTH }
    return batchOf(
      randomLines(drawing, { words: words.training, fonts: TRAINING_FONTS, seed: seed + step + 1, ...sizes }),
    )
  })
  const heldOut = batchOf(heldOutLines(words.heldOut, 'seen', 2 * BATCH))
  const metricsPath = join(options.directory, 'metrics.jsonl')
  let metrics: MetricsFile | undefined
  const progress = new TerminalProgress(process.stdout, { total: steps })
  const before = cpuUsage()
  try {
    await reader.fit(data.prefetch(1), {
      loss: 'ctc',
      learningRate: cosineRate({ peak: 3e-3, final: 1e-4, steps, warmup: 50 }),
      clipNorm: 1,
      maxSteps: steps,
      checkpoints: options.directory,
      evaluateEvery: 500,
      validation: [heldOut],
      async onStart(step) {
        await mkdir(options.directory, { recursive: true })
        metrics = await MetricsFile.open(metricsPath, step)
      },
      async onStep(report) {
        await metrics?.write(report)
        const errors = report.metrics?.['labelErrorRate']
        const figures = [
          `loss ${report.loss.toFixed(2)}`,
          ...(errors === undefined ? [] : [`${(100 * errors).toFixed(1)} % of letters wrong`]),
        ]
        progress.update(report.step, figures, errors !== undefined)
      },
    })
  } finally {
    progress.stop()
    await metrics?.close()
  }
  const { user, system } = cpuUsage(before)
  // Reports of the whole run, including the part before a resume.
  const reports = await readMetrics(metricsPath)
  return { reader, reports, cpuSeconds: (user + system) / 1e6 }
}
