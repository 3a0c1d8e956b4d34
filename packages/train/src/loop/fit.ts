import { claimForTraining } from '@cudnn-rnn/ops/executor'
import { BestWeights } from './best_weights.js'
import { checkFitOptions, type FitOptions } from './fit_options.js'
import { gatherResults } from './gather_results.js'
import { gradientOptions, type LossFitOptions } from './loss_options.js'
import { SeveralRanks } from './several_ranks.js'
import { type FitResult, TrainingLoop } from './training_loop.js'
import { TrainingRanks } from './training_ranks.js'

/**
 * Trains by a loss, whose gradients follow, or by gradients, until `maxSteps`, the end of the data, early stopping or the signal. With a saver it resumes from the newest whole
 * checkpoint, and later steps equal an uninterrupted run bit for bit on the same executor. A finished run continues if
 * `maxSteps` is larger than it was. A second `fit` of the same variables is refused while one is running.
 *
 * @throws NonFiniteError `ERR_NON_FINITE_GRADIENTS`, also if no step updated anything; Error `ERR_BEING_TRAINED`; RangeError `ERR_HYPERPARAMETER`, `ERR_UNKNOWN_METRIC`, `ERR_RESUME_OPTION`; TypeError
 *   `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`, `ERR_NOT_A_BATCH_RESULT`; over several ranks RangeError
 *   `ERR_RANKS_DIFFER`, `ERR_RANKS_DIVERGED`, `ERR_RANK_FAILED`; errors of batchGradients, evaluate, the
 *   saver and the data
 * @example
 * ```ts
 * import { Dataset, fit, openBackend, tensor, Variable } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const slope = new Variable(backend, backend.zeros([1]), 'slope')
 * const { step, ending } = await fit({
 *   variables: [slope],
 *   loss: (t, xs) => t.mean(t.square(t.subtract(t.multiply(slope, tensor(xs)), tensor(xs.map((x) => 3 * x))))),
 *   data: Dataset.fromArray([1, 2, 3]).repeat().batch(3),
 *   optimizer: 'sgd',
 *   learningRate: 0.1,
 *   maxSteps: 40,
 * })
 * console.log(step, ending, (await slope.value.data())[0]?.toFixed(2)) // 40 finished 3.00
 * ```
 */
export async function fit<Batch>(options: FitOptions<Batch> | LossFitOptions<Batch>): Promise<FitResult> {
  if (typeof options !== 'object' || options === null || !('loss' in options)) return fitByGradients(options)
  const [complete, made] = gradientOptions(options)
  using _made = made
  return await fitByGradients(complete)
}

async function fitByGradients<Batch>(given: FitOptions<Batch>): Promise<FitResult> {
  const options = await checkOptions(given)
  using _claim = claimForTraining(options.optimizer.variables.map(({ value }) => value))
  using ranks = ranksOf(options)
  await using _lock = await ranks.lock(options.saver)
  const { optimizer, earlyStopping } = options
  const isKept = earlyStopping?.restoreBestWeights === true && options.saver === undefined
  using kept = isKept ? new BestWeights(optimizer.backend, optimizer.variables) : undefined
  const loop = await TrainingLoop.restore(kept ? { ...options, saver: kept } : options, ranks)
  return await loop.run()
}

/** The other ranks reject too if the options of one are wrong, and a mistake that all ranks make is reported once. */
async function checkOptions<Batch>(options: FitOptions<Batch>): Promise<FitOptions<Batch>> {
  try {
    return checkFitOptions(options)
  } catch (error) {
    const communicator = options?.communicator
    if (typeof communicator?.allGather !== 'function' || !(communicator.size > 1)) throw error
    await gatherResults(communicator, () => Promise.reject(error))
    throw error
  }
}

function ranksOf<Batch>({ communicator, optimizer, signal, wire }: FitOptions<Batch>): TrainingRanks {
  if (communicator === undefined || communicator.size === 1) return new TrainingRanks(signal)
  return new SeveralRanks(communicator, optimizer.backend, optimizer.variables, { signal, wire })
}
