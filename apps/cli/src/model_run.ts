import { type Backend, type Communicator, type FitOptions, type LayersModel, TrainingCheckpoints } from '@cudnn-rnn/rnn'
import { RecurrentLayer } from '@cudnn-rnn/rnn/layers'
import { type GateWeights, gateWeights } from '@cudnn-rnn/rnn/train'
import { required } from '@cudnn-rnn/canonical/rules'
import { type LoggedFitOptions, type LoggedFitResult, loggedFit } from './logged_fit.js'
import { warnOfSkipped } from './resumed_run.js'
import type { RunOptions } from './run_options.js'
import { type RunSettings, writeRunSettings } from './run_settings.js'

/** The place of a training, and its options. */
export interface RunPlace<Settings extends RunSettings> {
  readonly directory: string
  readonly settings: Settings
  readonly backend: Backend
  /** The ranks to train over; undefined for one process. */
  readonly world: Communicator | undefined
}

/** The options of `fit` that the runs of all tasks have. */
type RunHooks = Pick<FitOptions<unknown>, 'onStart' | 'onStep' | 'signal' | 'communicator' | 'wire'> & {
  readonly checkpoints: TrainingCheckpoints
}

/** The parts of a training that depend on the task. */
interface Training extends Pick<LoggedFitOptions, 'maxSteps' | 'figures' | 'jsonLine' | 'sample'> {
  readonly fit: (hooks: RunHooks) => ReturnType<LoggedFitOptions['fit']>
}

/** The parts of a training that depend on the command line. */
type TrainOptions = Pick<LoggedFitOptions, 'json' | 'isResumed' | 'maxSeconds' | 'quiet' | 'signal' | 'onStep'> &
  Pick<RunOptions, 'wire'>

/** A model in training, with the data and the settings of its run; dispose it after use. */
export abstract class ModelRun<Settings extends RunSettings> implements RunPlace<Settings> {
  readonly directory: string
  readonly settings: Settings
  readonly backend: Backend
  readonly world: Communicator | undefined
  readonly model: LayersModel
  readonly checkpoints: TrainingCheckpoints
  protected readonly recurrent: RecurrentLayer

  /** @param maxToKeep checkpoints to keep; undefined for the default. */
  constructor({ directory, settings, backend, world }: RunPlace<Settings>, model: LayersModel, maxToKeep?: number) {
    this.directory = directory
    this.settings = settings
    this.backend = backend
    this.world = world
    this.model = model
    this.recurrent = required(
      model.layers.find((layer) => layer instanceof RecurrentLayer),
      'the model of every task has a recurrent layer',
    )
    this.checkpoints = new TrainingCheckpoints(backend, directory, { models: [this.recurrent.model], maxToKeep })
  }

  /** Whether this rank writes files and prints. */
  get isFirst(): boolean {
    return this.world === undefined || this.world.rank === 0
  }

  gates(): Promise<GateWeights[]> {
    return gateWeights(this.recurrent.model, this.recurrent.variables[0].value)
  }

  dispose(): void {
    this.model.dispose()
    this.backend.dispose()
  }

  /** Trains, or resumes training, to the end or until a limit. */
  protected train({ wire, ...options }: TrainOptions, { fit, ...training }: Training): Promise<LoggedFitResult> {
    const { directory, checkpoints, world, isFirst } = this
    return loggedFit({
      ...options,
      ...training,
      fit: (hooks) => fit({ ...hooks, checkpoints, communicator: world, wire }),
      directory,
      isFirst,
      onResume: () => writeRunSettings(directory, this.settings),
      gates: () => this.gates(),
    })
  }

  /** Gives the model the values of its best step. */
  protected async restoreBest(): Promise<void> {
    const best = await this.checkpoints.restore(this.model.variables, 'best')
    warnOfSkipped(best?.skipped ?? [])
  }
}
