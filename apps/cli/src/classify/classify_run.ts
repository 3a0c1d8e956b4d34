import { join } from 'node:path'
import { Adam, cosineRate, Dataset, type LayerBatch, type LayerExample } from '@cudnn-rnn/rnn'
import { createTextClassifier, type LabeledText, type TextClassifier } from '@cudnn-rnn/rnn/tasks'
import { weightDecayMask } from '@cudnn-rnn/rnn/train'
import type { LoggedFitResult } from '../logged_fit.js'
import { ModelRun, type RunPlace } from '../model_run.js'
import type { RunSettings } from '../run_settings.js'
import type { TaskRun, TaskRunOptions } from '../run_task.js'
import { bagOfWordsPredictions } from './bag_of_words.js'
import { type ConfusionMatrix, confusionMatrix } from './confusion_matrix.js'
import type { Corpus, CorpusSource } from './corpus.js'
import { splitTexts, type TextParts } from './split_texts.js'

export const CLASSIFY_FORMAT = 'cudnn-rnn classification 2'

/** The checkpoint of the classifier in the directory of a run that has ended. */
const CLASSIFIER_FILE = join('classifier', 'model')

/** Options of a run; saved with it. */
export interface ClassifySettings extends RunSettings {
  readonly format: typeof CLASSIFY_FORMAT
  readonly source: CorpusSource
  /** Fingerprint of texts and labels; see `dataFingerprint`. */
  readonly fingerprint: string
  readonly encoding: {
    /** Most frequent words of the training part; all others are one word. */
    readonly vocabularySize: number
    /** Words of a text that are read. */
    readonly maxLength: number
    readonly seed: number
  }
  readonly sizes: {
    readonly cell: 'lstm' | 'gru'
    readonly embeddingSize: number
    readonly numUnits: number
    readonly numLayers: number
    /** Drop probability between layers. */
    readonly dropout: number
  }
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

export interface ClassifyResult {
  readonly training: LoggedFitResult
  /** The network first, then the baselines. */
  readonly classifiers: readonly ClassifierResult[]
}

/** Texts of a batch that is evaluated. */
const EVALUATED = 64

/** Texts, a model and the baselines to beat. */
export class ClassifyRun extends ModelRun<ClassifySettings> implements TaskRun<ClassifyResult> {
  readonly corpus: Corpus
  readonly parts: TextParts
  readonly classifier: TextClassifier

  constructor(place: RunPlace<ClassifySettings>, corpus: Corpus) {
    const { encoding, sizes } = place.settings
    const parts = splitTexts(corpus.texts, encoding.seed)
    // Ranks differ in their dropout masks; their variables begin with the first rank's.
    const seed = encoding.seed + (place.world?.rank ?? 0)
    const classifier = createTextClassifier(place.backend, parts.train, { ...encoding, ...sizes, seed })
    super(place, classifier.model)
    this.corpus = corpus
    this.parts = parts
    this.classifier = classifier
  }

  /**
   * Trains, or resumes training, saves the classifier with the best model, and classifies the test part with it.
   *
   * @returns undefined on ranks other than the first
   */
  async run(options: TaskRunOptions): Promise<ClassifyResult | undefined> {
    const { classifier, parts } = this
    const training = await this.#train(options)
    if (!this.isFirst) return undefined
    await this.restoreBest()
    await classifier.save(join(this.directory, CLASSIFIER_FILE))
    const { labels } = classifier
    const idOf = ({ label }: { readonly label: string }) => labels.indexOf(label)
    const actual = parts.test.map(idOf)
    const result = (name: string, predicted: readonly number[]) => ({
      name,
      matrix: confusionMatrix(labels, actual, predicted),
    })
    const sizes = labels.map((label) => parts.train.filter((text) => text.label === label).length)
    const commonest = sizes.indexOf(Math.max(...sizes))
    const classified = await classifier.classify(parts.test.map(({ text }) => text))
    return {
      training,
      classifiers: [
        result(`bidirectional ${this.settings.sizes.cell.toUpperCase()}`, classified.map(idOf)),
        result(
          'bag of words, logistic',
          await bagOfWordsPredictions(this.backend, classifier, parts, this.settings.encoding.seed),
        ),
        result(
          `always ${labels[commonest]}`,
          actual.map(() => commonest),
        ),
      ],
    }
  }

  async #train(options: TaskRunOptions): Promise<LoggedFitResult> {
    const { steps, batch, learningRate, weightDecay, evaluateEvery, saveEvery, patience, encoding } = this.settings
    const { seed } = encoding
    const examples = this.classifier.examples(this.parts.train)
    const lengthOf = ({ input }: LayerExample) => (input as Int32Array).length
    const data = Dataset.fromArray(examples)
      .shuffle({ bufferSize: examples.length, seed })
      .bucketByLength({ length: lengthOf, batchSize: batch, poolSize: 20 * batch, seed })
      .repeat()
      .prefetch()
      .map((chosen) => this.#batch(chosen))
    using mask = await weightDecayMask(this.backend, this.recurrent.model)
    let validation = '–'
    return await this.train(options, {
      fit: (hooks) =>
        this.model.fit(data, {
          ...hooks,
          loss: 'softmax_cross_entropy',
          optimizer: (variables) =>
            new Adam(variables, {
              weightDecay: ({ name }) => (name.endsWith('bias') ? 0 : weightDecay),
              decayMask: ({ value }) => (value.layout === undefined ? null : mask),
            }),
          learningRate: cosineRate({ peak: learningRate, steps, warmup: Math.min(20, steps - 1) }),
          maxSteps: steps,
          clipNorm: 1,
          validation: this.#batches(this.parts.validation),
          evaluateEvery,
          saveEvery,
          earlyStopping: { patience },
        }),
      maxSteps: steps,
      figures: ({ loss, metrics, seconds }) => {
        // The loss decides which step is the best one and when training stops.
        if (metrics?.['accuracy'] !== undefined && metrics['loss'] !== undefined) {
          validation = `${metrics['loss'].toFixed(4)}, ${(100 * metrics['accuracy']).toFixed(1)} % right`
        }
        return [`loss ${loss.toFixed(4)}`, `validation ${validation}`, `${Math.round(batch / seconds)} texts/s`]
      },
    })
  }

  /** Like lengths together, so that little is padded. */
  #batches(texts: readonly LabeledText[]): LayerBatch[] {
    const sorted = this.classifier
      .examples(texts)
      .sort((a, b) => (a.input as Int32Array).length - (b.input as Int32Array).length)
    return Array.from({ length: Math.ceil(sorted.length / EVALUATED) }, (_, n) =>
      this.#batch(sorted.slice(n * EVALUATED, (n + 1) * EVALUATED)),
    )
  }

  #batch(examples: readonly LayerExample[]): LayerBatch {
    const { tensor: input, lengths } = this.model.batchInputs(examples.map((example) => example.input))
    const labels = { data: Int32Array.from(examples, ({ label }) => Number(label)), shape: [examples.length] }
    return { input, labels, sequenceLengths: lengths }
  }
}
