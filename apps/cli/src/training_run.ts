import { resolve } from 'node:path'
import { type Backend, openBackend } from '@cudnn-rnn/rnn'
import { Adam } from './adam.js'
import { BigramModel } from './bigram_model.js'
import { CharLanguageModel, type CharModelSizes } from './char_language_model.js'
import { type RunRecord, readRunRecord } from './run_record.js'
import { restoreRun, saveRun } from './run_storage.js'
import type { TextCorpus } from './text_corpus.js'
import { loadCorpus } from './text_source.js'
import { type Ending, type StepRecord, type TrainingPlan, type TrainingPosition, train } from './trainer.js'
import { Vocabulary } from './vocabulary.js'

/** What a new run needs to know. */
export interface NewRun {
  readonly textFile: string | undefined
  readonly plan: TrainingPlan
  readonly sizes: Omit<CharModelSizes, 'vocabularySize'>
}

export interface RunObserver {
  /** Before the first update. */
  onStart(run: TrainingRun): void
  onStep(record: StepRecord, charactersPerSecond: number): void
}

/** A model in training: everything a run directory holds, alive. Dispose it after use. */
export class TrainingRun {
  readonly directory: string
  readonly backend: Backend
  readonly model: CharLanguageModel
  readonly adam: Adam
  readonly corpus: TextCorpus
  readonly history: StepRecord[]
  readonly #settings: Omit<RunRecord, 'history' | 'dropoutState' | 'carriesState'>
  #start: TrainingPosition

  private constructor(
    directory: string,
    backend: Backend,
    corpus: TextCorpus,
    settings: TrainingRun['settings'],
    history: readonly StepRecord[],
  ) {
    this.directory = directory
    this.backend = backend
    this.corpus = corpus
    this.#settings = settings
    this.history = [...history]
    this.model = new CharLanguageModel(backend, settings.sizes, settings.plan.seed)
    this.adam = new Adam(backend, this.model.variables)
    this.#start = { step: 0, state: null }
  }

  /** Begins a run; nothing is written before the first checkpoint. */
  static async create(directory: string, backendName: string, { textFile, plan, sizes }: NewRun): Promise<TrainingRun> {
    const corpus = await loadCorpus(textFile)
    const vocabularySize = corpus.vocabulary.size
    const backend = await openBackend(backendName)
    return new TrainingRun(
      directory,
      backend,
      corpus,
      {
        format: 'cudnn-rnn character model 1',
        corpus: corpus.name,
        textFile: textFile === undefined ? undefined : resolve(textFile),
        characters: corpus.vocabulary.characters,
        sizes: { ...sizes, vocabularySize },
        plan,
        bigramBits: new BigramModel(corpus.train, vocabularySize).bitsPerCharacter(corpus.heldOut),
        backend: backend.name,
      },
      [],
    )
  }

  /** Goes on where the run in `directory` was saved last. Throws as `readRunRecord` and the checkpoint reader. */
  static async resume(directory: string, backendName: string): Promise<TrainingRun> {
    const { history, dropoutState, carriesState, ...settings } = await readRunRecord(directory)
    const corpus = await loadCorpus(settings.textFile, new Vocabulary(settings.characters))
    const backend = await openBackend(backendName)
    const run = new TrainingRun(directory, backend, corpus, { ...settings, backend: backend.name }, history)
    run.#start = await restoreRun(run, { dropoutState, carriesState })
    return run
  }

  get settings(): Omit<RunRecord, 'history' | 'dropoutState' | 'carriesState'> {
    return this.#settings
  }

  /** Updates done before {@link run}. */
  get startStep(): number {
    return this.#start.step
  }

  /** Trains to the end of the plan or until a limit; saves at every evaluation and at the end. */
  async run(
    observer: RunObserver,
    limits: { readonly signal?: AbortSignal; readonly maxSeconds?: number },
  ): Promise<{ readonly ending: Ending; readonly step: number }> {
    observer.onStart(this)
    return train(
      this.model,
      this.adam,
      this.corpus,
      this.settings.plan,
      this.#start,
      {
        onStep: (record, charactersPerSecond) => {
          this.history.push(record)
          observer.onStep(record, charactersPerSecond)
        },
        onCheckpoint: (position) => saveRun(this, position),
      },
      limits,
    )
  }

  dispose(): void {
    this.adam.dispose()
    this.model.dispose()
    this.backend.dispose()
  }
}
