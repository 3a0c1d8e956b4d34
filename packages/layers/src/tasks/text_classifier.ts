import {
  checkArguments,
  checkOptions,
  codedRangeError,
  FILE_PATH,
  fields,
  integerFrom,
  listOf,
  type OptionsOf,
  oneOf,
  optional,
  PATH,
  SHARE,
  TEXT,
} from '@cudnn-rnn/canonical/rules'
import {
  cudnnGRU,
  cudnnLSTM,
  dense,
  embedding,
  type LayerExample,
  type LayersModel,
  loadModel,
  meanOverTime,
  sequential,
} from '@cudnn-rnn/layers'
import type { Backend } from '@cudnn-rnn/ops'
import { softmax, Vocabulary } from '@cudnn-rnn/train'
import { notATask, readTask, taskNote } from './task_record.js'
import { mostFrequentWords, wordsOf } from './words.js'

/** A text and the class it belongs to. */
export interface LabeledText {
  readonly text: string
  readonly label: string
}

/** The class of a text. */
export interface Classification {
  readonly label: string
  /** Probability of `label`, 0..1. */
  readonly probability: number
  /** Probabilities of every class, by label. */
  readonly probabilities: Readonly<Record<string, number>>
}

const UNKNOWN = '<unknown>'
const FORMAT = 1

const LABELED = listOf(fields({ text: TEXT, label: TEXT }))
const OPTIONS = {
  /** Most frequent words that are known; all others are one word. Default 3000. */
  vocabularySize: optional(integerFrom(2)),
  /** Words of a text that are read. Default 100. */
  maxLength: optional(integerFrom(1)),
  /** Default `gru`. */
  cell: optional(oneOf(['lstm', 'gru'])),
  /** Size of a word vector. Default 24. */
  embeddingSize: optional(integerFrom(1)),
  /** H, per layer and direction. Default 16. */
  numUnits: optional(integerFrom(1)),
  /** L. Default 1. */
  numLayers: optional(integerFrom(1)),
  /** Drop probability between layers. Default 0. */
  dropout: optional(SHARE),
  /** Seed of initial values and masks. Default 0. */
  seed: optional(integerFrom(0)),
}

export interface TextClassifierOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * A classifier of texts that is to be trained: words → embedding → bidirectional CudnnGRU or CudnnLSTM → dense → mean over
 * the words. Its vocabulary and its classes are those in `texts`, so give the texts of the training part alone.
 *
 * @throws RangeError `ERR_CLASSES` for fewer than two classes, `ERR_INVALID_OPTION`; TypeError `ERR_INVALID_ARGUMENT`,
 *   `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`, `ERR_NOT_A_BACKEND`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { createTextClassifier } from '@cudnn-rnn/rnn/tasks'
 *
 * const backend = await openBackend('reference')
 * const texts = Array.from({ length: 40 }, (_, n) =>
 *   n % 2 === 0 ? { text: 'win money now', label: 'spam' } : { text: 'see you at lunch', label: 'ham' },
 * )
 * const classifier = createTextClassifier(backend, texts, { numUnits: 4 })
 * const options = { loss: 'softmax_cross_entropy', batchSize: 8, epochs: 5, learningRate: 0.02 } as const
 * await classifier.model.fit(classifier.examples(texts), options)
 * const [mail] = await classifier.classify(['win money'])
 * console.log(classifier.labels, mail.label) // ['ham', 'spam'] spam
 * ```
 */
export function createTextClassifier(
  backend: Backend,
  texts: readonly LabeledText[],
  options: TextClassifierOptions = {},
): TextClassifier {
  const action = 'make a text classifier'
  const { texts: labeled } = checkArguments(action, { texts }, { texts: LABELED })
  const given = checkOptions(action, options, OPTIONS)
  const { vocabularySize = 3000, maxLength = 100, cell = 'gru', embeddingSize = 24, seed = 0 } = given
  const { numUnits = 16, numLayers = 1, dropout = 0 } = given
  const labels = Vocabulary.of(labeled.map(({ label }) => label))
  if (labels.size < 2) {
    throw codedRangeError(
      'ERR_CLASSES',
      `Cannot ${action} as there must be two classes or more: current number is ${labels.size}`,
      { labels: labels.symbols },
    )
  }
  const frequent = mostFrequentWords(
    labeled.map(({ text }) => text),
    vocabularySize - 1,
  )
  const words = new Vocabulary([UNKNOWN, ...frequent], { unknown: UNKNOWN })
  const recurrent = cell === 'lstm' ? cudnnLSTM : cudnnGRU
  const layers = [
    embedding({ size: words.size, units: embeddingSize, initializer: { uniform: 0.5 }, name: 'embedding' }),
    recurrent({ numLayers, numUnits, dropout, direction: 'bidirectional', name: cell }),
    dense({ units: labels.size, name: 'output' }),
    meanOverTime(),
  ]
  return new TextClassifier(sequential(backend, layers, { seed }), { words, labels, maxLength })
}

/** The conversion of texts to the input of a model, and of its output to classes. */
export interface TextEncoding {
  readonly words: Vocabulary
  readonly labels: Vocabulary
  /** Words of a text that are read. */
  readonly maxLength: number
}

/**
 * A model that sorts texts into classes, with its vocabulary; the result of `createTextClassifier` or `loadTextClassifier`.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { createTextClassifier, type TextClassifier } from '@cudnn-rnn/rnn/tasks'
 *
 * const backend = await openBackend('reference')
 * const texts = [
 *   { text: 'win money now', label: 'spam' },
 *   { text: 'see you at lunch', label: 'ham' },
 * ]
 * const classifier: TextClassifier = createTextClassifier(backend, [...texts, ...texts], { numUnits: 4 })
 * console.log(classifier.encode('win lunch').length, classifier.examples(texts).length) // 2 2
 * ```
 */
export class TextClassifier {
  /** Word ids [T,B] to logits [B,classes]. */
  readonly model: LayersModel
  readonly encoding: TextEncoding

  /** @internal */
  constructor(model: LayersModel, encoding: TextEncoding) {
    this.model = model
    this.encoding = encoding
  }

  /** The classes in the order of the model's output. */
  get labels(): readonly string[] {
    return this.encoding.labels.symbols
  }

  /** Word ids of a text, at least one. */
  encode(text: string): Int32Array {
    checkArguments('encode', { text }, { text: TEXT })
    const { words, maxLength } = this.encoding
    const read = wordsOf(text).slice(0, maxLength)
    return words.encode(read.length === 0 ? [UNKNOWN] : read)
  }

  /** Texts as examples for `model.fit` and `model.evaluate`. Throws RangeError `ERR_UNKNOWN_SYMBOL` for another class. */
  examples(texts: readonly LabeledText[]): LayerExample[] {
    checkArguments('make examples', { texts }, { texts: LABELED })
    return texts.map(({ text, label }) => ({
      input: this.encode(text),
      label: this.encoding.labels.encode([label])[0],
    }))
  }

  /** The classes of texts, in their order. A text without words has the class of one unknown word. */
  classify<const Texts extends readonly string[]>(
    texts: Texts,
  ): Promise<{ -readonly [Text in keyof Texts]: Classification }>
  async classify(texts: readonly string[]): Promise<Classification[]> {
    const { texts: own } = checkArguments('classify', { texts }, { texts: listOf(TEXT) })
    const logits = await this.model.predict(own.map((text) => this.encode(text)))
    return logits.map(({ data, shape }) => classification(this.labels, softmax({ data, shape }).data))
  }

  /**
   * Saves model, vocabulary and classes as one TensorFlow checkpoint, `<path>.index` and `<path>.data-00000-of-00001`.
   *
   * @throws TypeError `ERR_INVALID_ARGUMENT`; CheckpointError
   */
  async save(path: string): Promise<void> {
    checkArguments('save a text classifier', { path }, { path: FILE_PATH })
    const { words, labels, maxLength } = this.encoding
    const record = { format: FORMAT, words: words.symbols, labels: labels.symbols, maxLength }
    await this.model.save(path, { notes: taskNote('text_classifier', record) })
  }

  /** Releases the variables. */
  dispose(): void {
    this.model.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}

/**
 * A classifier that `save` wrote, or that a run of `cudnn-rnn classify` has trained.
 *
 * @param path what `save` was given, or the directory of a run.
 * @throws RangeError `ERR_NOT_A_CLASSIFIER`; TypeError `ERR_INVALID_ARGUMENT`, `ERR_NOT_A_BACKEND`; what `loadModel` throws
 * @example
 * ```ts
 * import { mkdtemp, rm } from 'node:fs/promises'
 * import { tmpdir } from 'node:os'
 * import { join } from 'node:path'
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { createTextClassifier, loadTextClassifier } from '@cudnn-rnn/rnn/tasks'
 *
 * const backend = await openBackend('reference')
 * const texts = Array.from({ length: 40 }, (_, n) =>
 *   n % 2 === 0 ? { text: 'win money now', label: 'spam' } : { text: 'see you at lunch', label: 'ham' },
 * )
 * const trained = createTextClassifier(backend, texts, { numUnits: 4 })
 * const options = { loss: 'softmax_cross_entropy', batchSize: 8, epochs: 5, learningRate: 0.02 } as const
 * await trained.model.fit(trained.examples(texts), options)
 * const folder = await mkdtemp(join(tmpdir(), 'classifier-'))
 * await trained.save(join(folder, 'mail'))
 *
 * const classifier = await loadTextClassifier(backend, join(folder, 'mail'))
 * const [first] = await classifier.classify(['money for lunch? win now'])
 * console.log(first.label) // spam
 * await rm(folder, { recursive: true })
 * ```
 */
export async function loadTextClassifier(backend: Backend, path: string): Promise<TextClassifier> {
  checkArguments('load a text classifier', { path }, { path: PATH })
  const { prefix, record } = await readTask('text_classifier', path)
  const { format, words, labels, maxLength } = record
  const isWhole = format === FORMAT && isTexts(words) && words[0] === UNKNOWN && isTexts(labels)
  if (!isWhole || !(Number.isSafeInteger(maxLength) && Number(maxLength) >= 1)) {
    throw notATask('text_classifier', prefix, 'its record is incomplete or of another version')
  }
  const model = await loadModel(backend, prefix)
  const fits = model.output.features === labels.length && model.input.features === null && !model.output.isSequence
  if (!fits) {
    model.dispose()
    throw notATask('text_classifier', prefix, `its model must have ${labels.length} outputs, one for each class`)
  }
  const encoding = {
    words: new Vocabulary(words, { unknown: UNKNOWN }),
    labels: new Vocabulary(labels),
    maxLength: Number(maxLength),
  }
  return new TextClassifier(model, encoding)
}

function classification(labels: readonly string[], probabilities: ArrayLike<number>): Classification {
  let best = 0
  for (let id = 1; id < labels.length; id++) if (probabilities[id] > probabilities[best]) best = id
  return {
    label: labels[best],
    probability: probabilities[best],
    probabilities: Object.fromEntries(labels.map((label, id) => [label, probabilities[id]])),
  }
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((text) => typeof text === 'string')
}
