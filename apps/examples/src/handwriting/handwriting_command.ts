import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readRegularFile, writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import { type ResultTable, tableText } from '@cudnn-rnn/rnn/report'
import { type BackendName, openBackend, type LayersModel } from '@cudnn-rnn/rnn'
import { characterScorer, NGramModel } from '@cudnn-rnn/rnn/ctc'
import { visibleText } from '@cudnn-rnn/canonical/rules'
import type { Command } from 'commander'
import { integerAtLeast } from '../number_options.js'
import { TRAINING_FONTS, UNSEEN_FONT } from './generator/line_fonts.js'
import { ALPHABET, wordsOf } from './generator/line_texts.js'
import { batchOf, type Line } from './line_batch.js'
import { readTexts } from './line_reader.js'
import { type ReadLines, readerPage } from './reader_page.js'
import { BATCH, characterErrorRate, heldOutLines, trainReader } from './train_reader.js'

interface HandwritingOptions {
  readonly out: string
  readonly text: string
  readonly steps: number
  readonly units: number
  readonly layers: number
  readonly seed: number
  readonly backend: string
  readonly threads?: number
}

/** Lines that the error rates are of, in each set of fonts. */
const TEST_LINES = 240
/** Lines that the page shows, of each set. */
const SHOWN = 12
const ORDER = 5
const BEAM_WIDTH = 12
const LANGUAGE_WEIGHT = 0.6

export function addHandwritingCommand(program: Command): void {
  program
    .command('handwriting')
    .description('train a reader of handwritten lines (bidirectional CudnnLSTM, CTC), and show its results')
    .option('--out <directory>', 'checkpoints, and the page reader.html', 'handwriting')
    .option('--text <file>', 'the book whose words are written', bundledBook())
    .option('--steps <n>', 'training steps', integerAtLeast(400), 10000)
    .option('--units <n>', 'units of each LSTM', integerAtLeast(1), 96)
    .option('--layers <n>', 'layers', integerAtLeast(1), 2)
    .option('--seed <n>', 'of weights, words and drawing', integerAtLeast(0), 1)
    .option('--backend <name>', 'auto, cudnn, cpu, wasm or reference', 'auto')
    .option('--threads <n>', 'threads of the cpu executor', integerAtLeast(1))
    .action(runHandwriting)
}

async function runHandwriting(options: HandwritingOptions): Promise<void> {
  const words = wordsOf(String(await readRegularFile(options.text)))
  using backend = await openBackend(options.backend as BackendName, { threads: options.threads })
  const { out: directory, steps, units: numUnits, layers: numLayers, seed } = options
  const { reader, reports, cpuSeconds } = await trainReader(backend, {
    directory,
    words,
    steps,
    numUnits,
    numLayers,
    seed,
  })
  const language = characterModel(words.training)
  const parts: (ReadLines & { readonly rates: readonly number[] })[] = []
  for (const font of ['seen', 'unseen'] as const) {
    const lines = heldOutLines(words.heldOut, font, TEST_LINES)
    const { greedy, scored } = await readAll(reader, lines, language)
    const rates = [characterErrorRate(greedy, lines), characterErrorRate(scored, lines)]
    const heading =
      font === 'seen'
        ? 'Held-out lines in the fonts of the training'
        : `Lines in ${UNSEEN_FONT}, which the training does not have`
    parts.push({ heading, lines: lines.slice(0, SHOWN), read: greedy.slice(0, SHOWN), rates })
  }
  const result: ResultTable = {
    header: ['held-out lines', 'greedy', `beam of ${BEAM_WIDTH}, ${ORDER}-grams of letters`],
    rows: parts.map(({ heading, rates }) => [heading, ...rates.map(percent)]),
  }
  const [seen, unseen] = parts.map(({ rates }) => rates[0])
  const page = readerPage({
    result,
    resultHtml: `<b>${percent(seen)}</b> of letters read wrongly in the fonts of the training, <b>${percent(unseen)}</b> in an unseen one.`,
    parts,
    reports,
    linesPerStep: BATCH,
    settings: [
      [
        'network',
        `a dense layer over each frame, ${numLayers} bidirectional layers of ${numUnits} units (CudnnLSTM), ${ALPHABET.length} letters and the blank`,
      ],
      [
        'training',
        `${steps} steps of ${BATCH} lines on ${backend.name}; CPU time since the last resume: ${cpuSeconds.toFixed(0)} s`,
      ],
      ['fonts', TRAINING_FONTS.join(', ')],
      ['seed', String(seed)],
    ],
  })
  const path = join(directory, 'reader.html')
  await writeFileAtomic(path, page)
  process.stdout.write(
    `${tableText(result)}\n${cpuSeconds.toFixed(0)} s of CPU time since the last resume\n${visibleText(path)}\n`,
  )
}

async function readAll(reader: LayersModel, lines: readonly Line[], language: NGramModel) {
  const scorer = characterScorer(language, ALPHABET, { weight: LANGUAGE_WEIGHT, bonus: LANGUAGE_WEIGHT })
  const greedy: string[] = []
  const scored: string[] = []
  for (let first = 0; first < lines.length; first += BATCH) {
    const batch = batchOf(lines.slice(first, first + BATCH))
    greedy.push(...(await readTexts(reader, batch)))
    scored.push(...(await readTexts(reader, batch, { scorer, beamWidth: BEAM_WIDTH })))
  }
  return { greedy, scored }
}

/** Letters of the training's words, in lines as long as those that are read. */
function characterModel(words: readonly string[]): NGramModel {
  const lines: string[][] = []
  for (let at = 0; at < words.length; at += 5) lines.push([...words.slice(at, at + 5).join(' ')])
  return NGramModel.train(lines, { order: ORDER })
}

const percent = (rate: number) => `${(100 * rate).toFixed(2)} %`

/** The book of the command line's demo, in the repository. */
function bundledBook(): string {
  const places = ['../../cli/data/moby_dick.txt', '../../../cli/data/moby_dick.txt']
  const paths = places.map((place) => fileURLToPath(new URL(place, import.meta.url)))
  return paths.find((path) => existsSync(path)) ?? paths[0]
}
