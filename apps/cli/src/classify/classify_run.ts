import { join } from 'node:path'
import {
  Adam,
  type Backend,
  type Communicator,
  cosineRate,
  Dataset,
  type LayerBatch,
  type LayerExample,
  TrainingCheckpoints,
} from '@cudnn-rnn/rnn'
import type { RecurrentLayer } from '@cudnn-rnn/rnn/layers'
import { createTextClassifier, type LabeledText, type TextClassifier } from '@cudnn-rnn/rnn/tasks'
import { type GateWeights, gateWeights, weightDecayMask } from '@cudnn-rnn/rnn/train'
import { type LoggedFitResult, loggedFit } from '../logged_fit.js'
import { warnOfSkipped } from '../resumed_run.js'
import { type RunSettings, writeRunSettings } from '../run_settings.js'
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

/** Texts, a model and the baselines to beat; dispose it after use. */
export class ClassifyRun implements TaskRun<ClassifyResult> {
  readonly directory: string
  readonly settings: ClassifySettings
  readonly corpus: Corpus
  readonly parts: TextParts
  readonly backend: Backend
  readonly world: Communicator
  readonly checkpoints: TrainingCheckpoints
  readonly classifier: TextClassifier

  constructor(directory: string, settings: ClassifySettings, corpus: Corpus, backend: Backend, world: Communicator) {
    this.directory = directory
    this.settings = settings
    this.corpus = corpus
    this.backend = backend
    this.world = world
    this.parts = splitTexts(corpus.texts, settings.encoding.seed)
    // Ranks differ in their dropout masks; their variables begin with the first rank's.
    const seed = settings.encoding.seed + world.rank
    const options = { ...settings.encoding, ...settings.sizes, seed }
    this.classifier = createTextClassifier(backend, this.parts.train, options)
    this.checkpoints = new TrainingCheckpoints(backend, directory, { models: [this.#recurrent.model] })
  }

  /**
   * Trains, or resumes training, saves the classifier with the best model, and classifies the test part with it.
   *
   * @returns undefined on ranks other than the first
   */
  async run(options: TaskRunOptions): Promise<ClassifyResult | undefined> {
    const { classifier, parts } = this
    const training = await this.#train(options)
    if (this.world.rank > 0) return undefined
    const best = await this.checkpoints.restore(classifier.model.variables, 'best')
    warnOfSkipped(best?.skipped ?? [])
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

  gates(): Promise<GateWeights[]> {
    return gateWeights(this.#recurrent.model, this.#recurrent.variables[0].value)
  }

  dispose(): void {
    this.classifier.dispose()
    this.backend.dispose()
  }

  get #recurrent(): RecurrentLayer {
    return this.classifier.model.layers[1] as RecurrentLayer
  }

  async #train({ json, maxSeconds, isResumed, wire }: TaskRunOptions): Promise<LoggedFitResult> {
    const { steps, batch, learningRate, weightDecay, evaluateEvery, saveEvery, patience, encoding } = this.settings
    const { model } = this.classifier
    const { seed } = encoding
    const examples = this.classifier.examples(this.parts.train)
    const lengthOf = ({ input }: LayerExample) => (input as Int32Array).length
    const data = Dataset.fromArray(examples)
      .shuffle({ bufferSize: examples.length, seed })
      .bucketByLength({ length: lengthOf, batchSize: batch, poolSize: 20 * batch, seed })
      .repeat()
      .prefetch()
      .map((chosen) => this.#batch(chosen))
    using mask = await weightDecayMask(this.backend, this.#recurrent.model)
    let validation = '–'
    return await loggedFit({
      fit: (hooks) =>
        model.fit(data, {
          ...hooks,
          loss: 'softmax_cross_entropy',
          optimizer: (variables) =>
            new Adam(variables, {
              weightDecay,
              decayMask: ({ name, value }) => (value.layout === undefined ? !name.endsWith('bias') : mask),
            }),
          learningRate: cosineRate({ peak: learningRate, steps, warmup: Math.min(20, steps - 1) }),
          maxSteps: steps,
          clipNorm: 1,
          validation: this.#batches(this.parts.validation),
          evaluateEvery,
          saveEvery,
          earlyStopping: { patience },
          checkpoints: this.checkpoints,
          communicator: this.world,
          wire,
        }),
      maxSteps: steps,
      directory: this.directory,
      isFirst: this.world.rank === 0,
      json,
      isResumed,
      onResume: () => writeRunSettings(this.directory, this.settings),
      maxSeconds,
      figures: ({ loss, metrics, seconds }) => {
        // The loss decides which step is the best one and when training stops.
        if (metrics?.['accuracy'] !== undefined && metrics['loss'] !== undefined) {
          validation = `${metrics['loss'].toFixed(4)}, ${(100 * metrics['accuracy']).toFixed(1)} % right`
        }
        return [`loss ${loss.toFixed(4)}`, `validation ${validation}`, `${Math.round(batch / seconds)} texts/s`]
      },
      gates: () => this.gates(),
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
    const { tensor: input, lengths } = this.classifier.model.batchInputs(examples.map((example) => example.input))
    const labels = { data: Int32Array.from(examples, ({ label }) => Number(label)), shape: [examples.length] }
    return { input, labels, sequenceLengths: lengths }
  }
}
