import { resolve } from 'node:path'
import {
  type Backend,
  type Communicator,
  cosineRate,
  Dataset,
  type LayersModel,
  type StepReport,
  TrainingCheckpoints,
} from '@cudnn-rnn/rnn'
import { truncatedWindows, Vocabulary } from '@cudnn-rnn/rnn/train'
import { codedRangeError } from '../coded_error.js'
import { checkFingerprint, dataFingerprint } from '../data_fingerprint.js'
import { programCommand, shellWord } from '../invocation.js'
import type { LoggedFitResult } from '../logged_fit.js'
import { ModelRun, type RunPlace } from '../model_run.js'
import { numberAtLeast, numberUpTo } from '../number_options.js'
import { beginOnFirst, onEach, onFirst, openBackendOfRank } from '../ranks.js'
import { warnOfSkipped } from '../resumed_run.js'
import { beginRun, type RunSettings, readRunSettings } from '../run_settings.js'
import { changeable, resumedSettings, type SettingOption, setting, trainingSettings } from '../setting_options.js'
import { type CharModelSizes, charLanguageModel, recurrentLayer, windowBatch } from './char_language_model.js'
import { bitsPerCharacter } from './evaluation.js'
import { NgramModel } from './ngram_model.js'
import { sample } from './sampler.js'
import { loadCorpus, type TextCorpus } from './text_corpus.js'

const CHARACTER_FORMAT = 'cudnn-rnn character model 3'

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

/** Inputs of a new run. */
export interface NewRun {
  readonly textFile: string | undefined
  readonly isDemo?: boolean | undefined
  readonly plan: TrainingPlan
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

export class TrainingRun extends ModelRun<CharacterSettings> {
  readonly corpus: TextCorpus
  readonly #isNew: boolean

  private constructor(place: RunPlace<CharacterSettings>, corpus: TextCorpus, isNew: boolean) {
    const { sizes, plan } = place.settings
    super(place, charLanguageModel(place.backend, sizes, plan.seed), 2)
    this.corpus = corpus
    this.#isNew = isNew
  }

  /**
   * Begins a run; nothing is written before {@link run}.
   *
   * @param world the ranks to train over; undefined for one process
   */
  static async create(
    directory: string,
    backendName: string,
    newRun: NewRun,
    world?: Communicator,
  ): Promise<TrainingRun> {
    const { textFile, isDemo, plan, sizes } = newRun
    const corpus = await loadCorpus(textFile)
    const { vocabulary, train, heldOut } = corpus
    const bits = (order: number) => new NgramModel(order, train, vocabulary.size).bitsPerCharacter(heldOut)
    const settings: CharacterSettings = {
      format: CHARACTER_FORMAT,
      corpus: corpus.name,
      textFile: textFile === undefined ? undefined : resolve(textFile),
      isDemo,
      fingerprint: dataFingerprint(train, heldOut),
      characters: vocabulary.symbols,
      sizes: { ...sizes, vocabularySize: vocabulary.size },
      plan,
      baselines: { bigram: bits(2), trigram: bits(3) },
    }
    const backend = await openBackendOfRank(backendName, world)
    return new TrainingRun({ directory, settings, backend, world }, corpus, true)
  }

  /**
   * Resumes from the last save of the run in `directory`.
   *
   * @param asked options of the command line; those given explicitly are in `given`.
   * @throws as `readRunSettings`, `resumedSettings`, `checkFingerprint` and the checkpoint reader
   */
  static async resume(
    directory: string,
    backendName: string,
    asked?: { readonly given: ReadonlySet<string>; readonly newRun: NewRun },
    world?: Communicator,
  ): Promise<TrainingRun> {
    const saved = await onFirst(world, () => readRunSettings<CharacterSettings>(directory, CHARACTER_FORMAT))
    return await onEach(world, async () => {
      const settings = asked === undefined ? saved : resumed(directory, saved, asked)
      const corpus = await loadCorpus(settings.textFile, new Vocabulary(settings.characters))
      const fingerprint = dataFingerprint(corpus.train, corpus.heldOut)
      checkFingerprint(corpus.name, settings.fingerprint, fingerprint, saved.textFile)
      const backend = await openBackendOfRank(backendName, world)
      return new TrainingRun({ directory, settings, backend, world }, corpus, false)
    })
  }

  /** Trains to the end of the plan or until a limit; saves at every evaluation and at the end. */
  async run({
    onBegun,
    json = false,
    ...options
  }: {
    readonly json?: boolean | undefined
    readonly quiet?: boolean | undefined
    readonly maxSeconds?: number | undefined
    readonly wire?: 'bfloat16' | undefined
    readonly signal?: AbortSignal | undefined
    /** Called when the directory is locked and, for a new run, made. */
    readonly onBegun?: (() => void) | undefined
    readonly onStep?: ((report: StepReport) => void) | undefined
  }): Promise<LoggedFitResult> {
    const { steps, time, batch, learningRate, evaluateEvery, saveEvery } = this.settings.plan
    const { model, corpus } = this
    const characters = time * batch
    const peak = learningRate
    // Refuses a text that is too short for one window before anything is written.
    const windows = new Dataset(truncatedWindows(corpus.train, { time, batch })).map(windowBatch)
    await using _lock = await beginOnFirst(this.world, this.checkpoints, async () => {
      if (this.#isNew) await beginRun(this.directory, this.settings)
      onBegun?.()
    })
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
    const asked = { ...options, json, isResumed: !this.#isNew }
    return await this.train(asked, {
      fit: (hooks) => model.fit(windows, { ...fitOptions, ...hooks }),
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
  }

  /** The model's continuation of a fixed prompt. */
  async write(length: number): Promise<Sample> {
    const { symbols } = this.corpus.vocabulary
    const prompt = symbols.includes('T') ? 'The ' : symbols[0]
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

function resumed(
  directory: string,
  saved: CharacterSettings,
  { given, newRun }: { readonly given: ReadonlySet<string>; readonly newRun: NewRun },
): CharacterSettings {
  const settings = resumedSettings(directory, CHARACTER_SETTINGS, given, newRun, saved)
  // The file may have moved; that it holds the same text is checked when it has been read.
  return newRun.textFile === undefined ? settings : { ...settings, textFile: resolve(newRun.textFile) }
}

/** A step in the output of `--json`. */
function jsonLine(
  { step, loss, gradientNorm, learningRate, metrics, seconds, resumed }: StepReport,
  characters: number,
): string {
  const record = { step, bits: loss / Math.LN2, gradientNorm, learningRate, ...metrics, ...(resumed && { resumed }) }
  return JSON.stringify({ ...record, charactersPerSecond: characters / seconds })
}
