import {
  type Backend,
  cosineRate,
  type Dataset,
  type LayerBatch,
  type LayersModel,
  type StepReport,
  TrainingCheckpoints,
} from '@cudnn-rnn/rnn'
import { Vocabulary } from '@cudnn-rnn/rnn/train'
import { codedRangeError } from '../coded_error.js'
import { programCommand, shellWord } from '../invocation.js'
import type { LoggedFitOptions, LoggedFitResult } from '../logged_fit.js'
import { ModelRun, type RunPlace } from '../model_run.js'
import { numberAtLeast, numberUpTo } from '../number_options.js'
import { warnOfSkipped } from '../resumed_run.js'
import { type RunSettings, readRunSettings } from '../run_settings.js'
import type { TaskRun, TaskRunOptions } from '../run_task.js'
import { changeable, dataPath, type SettingOption, setting, trainingSettings } from '../setting_options.js'
import { type CharModelSizes, charLanguageModel, recurrentLayer } from './char_language_model.js'
import { bitsPerCharacter } from './evaluation.js'
import { promptIn, sample } from './sampler.js'
import type { TextCorpus } from './text_corpus.js'

export const CHARACTER_FORMAT = 'cudnn-rnn character model 3'

/** How long and how to train; saved with every run, so that a resumed run continues with the same values. */
export interface TrainingPlan {
  /** Updates of the whole run. */
  readonly steps: number
  /** T, characters per window. */
  readonly time: number
  /** B, rows of the batch. */
  readonly batch: number
  readonly learningRate: number
  /** Evaluate on the held-out text every so many steps, and at the end. */
  readonly evaluateEvery: number
  /** Save every so many steps, too. */
  readonly saveEvery?: number | undefined
  readonly seed: number
}

/** Options of a run; saved with it. */
export interface CharacterSettings extends RunSettings {
  readonly format: typeof CHARACTER_FORMAT
  readonly corpus: string
  /** Path of the text file; undefined for the book in the installation. */
  readonly textFile: string | undefined
  /** Begun by `demo`, so that the next one may replace it. */
  readonly isDemo?: boolean | undefined
  /** Fingerprint of the text; see `dataFingerprint`. */
  readonly fingerprint: string
  readonly characters: readonly string[]
  readonly sizes: CharModelSizes
  readonly plan: TrainingPlan
  /** Bits per character of the baselines on the held-out text. */
  readonly baselines: { readonly bigram: number; readonly trigram: number }
}

/** Options of the command line that a run records; the rest of its settings follow from the text. */
export type AskedSettings = Pick<CharacterSettings, 'textFile' | 'isDemo' | 'plan'> & {
  readonly sizes: Omit<CharModelSizes, 'vocabularySize'>
}

/** Steps over which the learning rate rises, and the share of it that is left at the last step. */
const WARM_UP_STEPS = 20
const FINAL_SHARE = 0.1

/** Samples for TensorBoard at every evaluation. */
const LOGGED_CHARACTERS = 120
const SAMPLE_TEMPERATURE = 0.5

/** The model's continuation of a prompt. */
export interface Sample {
  readonly prompt: string
  readonly text: string
}

/** Gradients longer than this are scaled down to it. */
const MAXIMUM_NORM = 1

export interface CharacterResult {
  readonly training: LoggedFitResult
  /** None after an interrupt. */
  readonly sampled: Sample | undefined
}

const SAMPLE_LENGTH = 400

export class TrainingRun extends ModelRun<CharacterSettings> implements TaskRun<CharacterResult> {
  readonly corpus: TextCorpus
  readonly #windows: Dataset<LayerBatch>

  /** @param windows of the text to learn from */
  constructor(place: RunPlace<CharacterSettings>, corpus: TextCorpus, windows: Dataset<LayerBatch>) {
    const { sizes, plan } = place.settings
    super(place, charLanguageModel(place.backend, sizes, plan.seed), 2)
    this.corpus = corpus
    this.#windows = windows
  }

  /**
   * Trains to the end of the plan or until a limit; saves at every evaluation and at the end.
   *
   * @returns undefined on ranks other than the first
   */
  async run(
    options: TaskRunOptions & Pick<LoggedFitOptions, 'quiet' | 'signal' | 'onStep'>,
  ): Promise<CharacterResult | undefined> {
    const { steps, time, batch, learningRate: peak, evaluateEvery, saveEvery } = this.settings.plan
    const { model, corpus } = this
    const characters = time * batch
    let heldOut = '–'
    const fitOptions = {
      loss: 'softmax_cross_entropy' as const,
      learningRate: cosineRate({ peak, steps, warmup: Math.min(WARM_UP_STEPS, steps - 1), final: FINAL_SHARE * peak }),
      maxSteps: steps,
      clipNorm: MAXIMUM_NORM,
      evaluate: async () => ({ heldOutBits: await bitsPerCharacter(model, corpus.heldOut, this.world) }),
      evaluateEvery,
      saveEvery,
      earlyStopping: { metric: 'heldOutBits' },
    }
    const training = await this.train(options, {
      fit: (hooks) => model.fit(this.#windows, { ...fitOptions, ...hooks }),
      maxSteps: steps,
      jsonLine: (report) => jsonLine(report, characters),
      figures: ({ loss, metrics, seconds }) => {
        if (metrics?.['heldOutBits'] !== undefined) heldOut = metrics['heldOutBits'].toFixed(3)
        const rate = Math.round(characters / seconds).toLocaleString('en-US')
        const bits = (loss / Math.LN2).toFixed(3)
        return [`loss ${loss.toFixed(3)} nats`, `${bits} bits/char`, `held-out ${heldOut}`, `${rate} chars/s`]
      },
      sample: () => this.write(LOGGED_CHARACTERS).then(({ prompt, text }) => `${prompt}${text}`),
    })
    if (!this.isFirst) return undefined
    return { training, sampled: training.ending === 'interrupted' ? undefined : await this.write(SAMPLE_LENGTH) }
  }

  /** The model's continuation of a fixed prompt. */
  async write(length: number): Promise<Sample> {
    const prompt = promptIn(this.corpus.vocabulary, 'The ')
    const options = { length, temperature: SAMPLE_TEMPERATURE, seed: this.settings.plan.seed, prompt }
    let text = ''
    for await (const character of sample(this.model, this.corpus.vocabulary, options)) text += character
    return { prompt, text }
  }
}

/**
 * The trained model of a run, as it was saved last, and its vocabulary; dispose the model after use.
 *
 * @throws RangeError `ERR_NO_RUN`; CheckpointError, RestoreError for a checkpoint that is damaged or another's
 */
export async function restoreModel(
  directory: string,
  backend: Backend,
): Promise<{ readonly model: LayersModel; readonly vocabulary: Vocabulary }> {
  const { sizes, plan, characters } = await readRunSettings<CharacterSettings>(directory, CHARACTER_FORMAT)
  const model = charLanguageModel(backend, sizes, plan.seed)
  try {
    const checkpoints = new TrainingCheckpoints(backend, directory, { models: [recurrentLayer(model).model] })
    const record = await checkpoints.restore(model.variables)
    warnOfSkipped(record?.skipped ?? [])
    if (record !== undefined) return { model, vocabulary: new Vocabulary(characters) }
  } catch (error) {
    model.dispose()
    throw error
  }
  model.dispose()
  throw codedRangeError(
    'ERR_NO_RUN',
    `Cannot load a model as ${directory} must hold a checkpoint: nothing was saved yet. Go on with "${programCommand()} train --resume --out ${shellWord(directory)}"`,
    { directory },
  )
}

/** Whether a directory holds a run that `demo` began. */
export async function isRunOfDemo(directory: string): Promise<boolean> {
  return readRunSettings<CharacterSettings>(directory, CHARACTER_FORMAT).then(
    ({ isDemo }) => isDemo === true,
    () => false,
  )
}

/** The options that a run records; the defaults are the demo's: about a minute on one core. */
export const CHARACTER_SETTINGS: readonly SettingOption[] = [
  dataPath('textFile', '--text <file>', 'UTF-8 text to train on; a run records its path'),
  changeable('plan.steps', '--steps <n>', 'updates of the whole run', 1, 4000),
  setting('sizes.numUnits', '--units <n>', 'LSTM units per layer', 1, 256),
  setting('sizes.numLayers', '--layers <n>', 'LSTM layers', 1, 1),
  setting('sizes.embeddingSize', '--embedding <n>', 'size of a character vector', 1, 32),
  setting('sizes.dropout', '--dropout <p>', 'drop probability between layers', numberUpTo(1), 0),
  setting('plan.batch', '--batch <n>', 'sequences per update', 1, 16),
  setting('plan.time', '--time <n>', 'characters per window', 1, 48),
  setting('plan.learningRate', '--learning-rate <x>', 'peak learning rate of Adam', numberAtLeast(0), 0.005),
  changeable('plan.evaluateEvery', '--evaluate-every <n>', 'evaluate and save every so many updates', 1, 400),
  ...trainingSettings('plan.saveEvery', 'plan.seed'),
]

/** A step in the output of `--json`. */
function jsonLine(
  { step, loss, gradientNorm, learningRate, metrics, seconds, resumed }: StepReport,
  characters: number,
): string {
  const record = { step, bits: loss / Math.LN2, gradientNorm, learningRate, ...metrics, ...(resumed && { resumed }) }
  return JSON.stringify({ ...record, charactersPerSecond: characters / seconds })
}
