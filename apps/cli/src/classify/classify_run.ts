import { Adam, type Backend, cosineRate, Dataset, TrainingCheckpoints } from '@cudnn-rnn/rnn'
import { sparseCrossEntropy, weightDecayMask } from '@cudnn-rnn/rnn/train'
import { dropoutState } from '../dropout_state.js'
import { type LoggedFitResult, loggedFit } from '../logged_fit.js'
import { warnOfSkipped } from '../resumed_run.js'
import { type RunSettings, writeRunSettings } from '../run_settings.js'
import { bagOfWordsPredictions, likeliest } from './bag_of_words.js'
import { accuracyOf, type ConfusionMatrix, confusionMatrix } from './confusion_matrix.js'
import type { Corpus, CorpusSource } from './corpus.js'
import { TextClassifier, type TextClassifierSizes } from './text_classifier.js'
import { type EncodingOptions, encodeTexts, type TextExample, type TextExamples } from './text_examples.js'

export const CLASSIFY_FORMAT = 'cudnn-rnn classification 1'

/** Options of a run; saved with it. */
export interface ClassifySettings extends RunSettings {
  readonly format: typeof CLASSIFY_FORMAT
  readonly source: CorpusSource
  /** Of texts and labels; see `dataFingerprint`. */
  readonly fingerprint: string
  readonly encoding: EncodingOptions
  readonly sizes: Omit<TextClassifierSizes, 'vocabularySize' | 'classes'>
  readonly steps: number
  readonly batch: number
  readonly learningRate: number
  readonly weightDecay: number
  readonly evaluateEvery: number
  readonly saveEvery?: number | undefined
  /** Evaluations without a better one until training stops. */
  readonly patience: number
}

/** A classifier and how it did on the test part. */
interface ClassifierResult {
  readonly name: string
  readonly matrix: ConfusionMatrix
}

interface RunOptions {
  readonly json: boolean
  /** The run was begun before. */
  readonly isResumed: boolean
  readonly maxSeconds?: number | undefined
}

export interface ClassifyResult {
  readonly training: LoggedFitResult
  /** The network first, then the baselines. */
  readonly classifiers: readonly ClassifierResult[]
}

/** Predictions run in pieces. */
const PIECE = 64

/** Texts, a model and the baselines to beat; dispose it after use. */
export class ClassifyRun {
  readonly directory: string
  readonly settings: ClassifySettings
  readonly corpus: Corpus
  readonly examples: TextExamples
  readonly backend: Backend
  readonly checkpoints: TrainingCheckpoints
  readonly model: TextClassifier

  constructor(directory: string, settings: ClassifySettings, corpus: Corpus, backend: Backend) {
    this.directory = directory
    this.settings = settings
    this.corpus = corpus
    this.backend = backend
    this.examples = encodeTexts(corpus.texts, settings.encoding)
    const { words, labels } = this.examples
    const sizes = { ...settings.sizes, vocabularySize: words.size, classes: labels.size }
    this.model = new TextClassifier(backend, sizes, settings.encoding.seed)
    this.checkpoints = new TrainingCheckpoints(backend, directory, { models: [this.model.recurrent.model] })
  }

  /** Trains, or resumes training, and then classifies the test part with the best model. */
  async run(options: RunOptions): Promise<ClassifyResult> {
    const training = await this.#train(options)
    const best = await this.checkpoints.restore(this.model.variables, 'best')
    warnOfSkipped(best?.skipped ?? [])
    const { labels, test, train } = this.examples
    const result = (name: string, predicted: readonly number[]) => ({
      name,
      matrix: confusionMatrix(
        labels.symbols,
        test.map(({ label }) => label),
        predicted,
      ),
    })
    const sizes = labels.symbols.map((_, label) => train.filter((example) => example.label === label).length)
    const commonest = sizes.indexOf(Math.max(...sizes))
    return {
      training,
      classifiers: [
        result(`bidirectional ${this.settings.sizes.cell.toUpperCase()}`, (await this.#classify(test)).predicted),
        result(
          'bag of words, logistic',
          await bagOfWordsPredictions(this.backend, this.examples, this.settings.encoding.seed),
        ),
        result(
          `always ${labels.symbols[commonest]}`,
          test.map(() => commonest),
        ),
      ],
    }
  }

  dispose(): void {
    this.model.dispose()
    this.backend.dispose()
  }

  async #train({ json, maxSeconds, isResumed }: RunOptions) {
    const { steps, batch, learningRate, weightDecay, evaluateEvery, saveEvery, patience, encoding } = this.settings
    const { model, examples } = this
    const recurrent = model.recurrent.model
    using mask = await weightDecayMask(this.backend, recurrent)
    using optimizer = new Adam(this.backend, model.variables, {
      weightDecay,
      decayMask: ({ name, value }) => (value.layout === undefined ? !name.endsWith('bias') : mask),
    })
    let accuracy = '–'
    const { seed } = encoding
    return await loggedFit({
      directory: this.directory,
      json,
      isResumed,
      onResume: () => writeRunSettings(this.directory, this.settings),
      maxSeconds,
      backend: this.backend,
      data: Dataset.fromArray(examples.train)
        .shuffle({ bufferSize: examples.train.length, seed })
        .bucketByLength({ length: ({ ids }) => ids.length, batchSize: batch, poolSize: 20 * batch, seed })
        .repeat()
        .prefetch(),
      batchGradients: (chosen) => model.batchGradients(chosen),
      optimizer,
      learningRate: cosineRate({ peak: learningRate, steps, warmup: Math.min(20, steps - 1) }),
      maxSteps: steps,
      clipNorm: 1,
      evaluate: async () => {
        const { loss, predicted } = await this.#classify(examples.validation)
        const actual = examples.validation.map(({ label }) => label)
        return { loss, accuracy: accuracyOf(confusionMatrix(examples.labels.symbols, actual, predicted)) }
      },
      evaluateEvery,
      saveEvery,
      earlyStopping: { metric: 'loss', patience },
      saver: this.checkpoints,
      state: dropoutState(recurrent, this.settings.sizes.dropout),
      figures: ({ loss, metrics, seconds }) => {
        if (metrics?.['accuracy'] !== undefined) accuracy = `${(100 * metrics['accuracy']).toFixed(1)} %`
        return [`loss ${loss.toFixed(4)}`, `validation ${accuracy} right`, `${Math.round(batch / seconds)} texts/s`]
      },
      gates: () => model.recurrent.gates(),
    })
  }

  async #classify(part: readonly TextExample[]): Promise<{ loss: number; predicted: number[] }> {
    // Like lengths together, so that little is padded.
    const order = part.map((_, n) => n).sort((a, b) => part[a]!.ids.length - part[b]!.ids.length)
    const predicted = new Array<number>(part.length)
    let loss = 0
    for (let from = 0; from < order.length; from += PIECE) {
      const chosen = order.slice(from, from + PIECE)
      const logits = await this.model.logits(chosen.map((n) => part[n]!))
      const labels = { data: Int32Array.from(chosen, (n) => part[n]!.label), shape: [chosen.length] }
      loss += (sparseCrossEntropy(logits, labels).loss * chosen.length) / part.length
      for (const [row, label] of likeliest(logits.data, logits.shape[1]).entries()) predicted[chosen[row]!] = label
    }
    return { loss, predicted }
  }
}
