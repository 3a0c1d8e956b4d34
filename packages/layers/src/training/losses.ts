import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { checkNames, codedRangeError, invalidOption } from '@cudnn-rnn/canonical/rules'
import type { Backend, BackendTensor, TensorLike } from '@cudnn-rnn/ops'
import { checkIsBackend, type ElementLoss, type GradientTape, type Value } from '@cudnn-rnn/ops/executor'
import { checkCtcLossSettings, ctcBlank, type CtcLossSettings } from '@cudnn-rnn/train/ctc'
import type { ModelGraph } from '../model/model_graph.js'
import { checkNamed, isNamedModel } from '../model/model_inputs.js'
import { signalText } from '../signal.js'
import type { LayerBatch, NamedBatch } from './layer_batch.js'

const ROW_LOSSES = [
  'softmax_cross_entropy',
  'sigmoid_cross_entropy',
  'mean_squared_error',
  'mean_absolute_error',
] as const

/**
 * Losses by TensorFlow's names. The cross-entropies take logits, or the probabilities of a last `softmax` or `sigmoid`: `softmax_cross_entropy` against class ids,
 * `sigmoid_cross_entropy` against numbers in 0..1 for each output. `ctc` takes logits of every step, the blank among them,
 * against label sequences that are not aligned with the steps.
 */
export const LOSSES = Object.freeze([...ROW_LOSSES, 'ctc'] as const)

type LossName = (typeof LOSSES)[number]

/** A loss with a label for every row of the output. */
export type RowLossName = (typeof ROW_LOSSES)[number]

/** `ctc` with settings of `ctcLoss`; the name alone has TensorFlow's: the blank is the last class, and rows are averaged. */
export interface CtcLoss extends CtcLossSettings {
  readonly name: 'ctc'
}

/**
 * A loss of your own, a scalar on a tape: `output` is the model's, and the rest of the batch are constants. Mean over the rows of the
 * batch, where gradients of several batches are averaged.
 *
 * @param all of a model of several inputs or outputs the outputs by their names and the whole batch; the others are of the first output
 */
export type LossFunction = (
  t: GradientTape,
  output: Value,
  batch: LayerBatch,
  all: { readonly outputs: Readonly<Record<string, Value>>; readonly batch: NamedBatch },
) => Value | Promise<Value>

/**
 * Losses of a model of several outputs by their names, which are added up. A function has the part of the batch of its output.
 * Over several ranks or accumulated batches each loss is weighed by their rows.
 */
type NamedLosses = Readonly<Record<string, LossName | CtcLoss | LossFunction>>

/** The loss of a model. Several outputs share the name of a loss, or have one each; the sum is minimized. */
export type Loss = LossName | CtcLoss | LossFunction | NamedLosses

/** A loss of one output that is known to be valid; `ctc` in its long form. */
export type OneLoss = RowLossName | CtcLoss | LossFunction

/** A loss that is known to be valid. */
export type CheckedLoss = OneLoss | CheckedLosses

type CheckedLosses = Readonly<Record<string, OneLoss>>

type LossResult = {
  /** Scalar. */
  readonly loss: BackendTensor
  /** By the model's output. */
  readonly gradient: BackendTensor
}

export const ELEMENT_LOSSES: Readonly<Record<Exclude<RowLossName, 'softmax_cross_entropy'>, ElementLoss>> = {
  sigmoid_cross_entropy: 'sigmoid_cross_entropy',
  mean_squared_error: 'squared_error',
  mean_absolute_error: 'absolute_error',
}

/**
 * The loss of a batch on the executor; nothing is read. `ctcLoss` computes CTC.
 *
 * @throws TypeError `ERR_NOT_A_BACKEND`, `ERR_DTYPE`, `ERR_NOT_A_TENSOR`; RangeError `ERR_INVALID_OPTION`, `ERR_SHAPE`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { lossOf } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const output = backend.tensor({ data: Float32Array.of(1, 2), shape: [1, 2] }) // [B,O]
 * const labels = { data: Float32Array.of(0, 4), shape: [1, 2] }
 * const { loss, gradient } = lossOf(backend, 'mean_squared_error', output, labels, undefined)
 * console.log(await loss.data(), await gradient.data()) // [2.5] [1, -2]
 * ```
 */
export function lossOf(
  backend: Backend,
  loss: RowLossName,
  output: BackendTensor,
  labels: TensorLike,
  weights: TensorLike | undefined,
): LossResult {
  checkIsBackend('compute a loss', backend)
  if (!ROW_LOSSES.includes(loss)) throw unknownLoss('compute a loss', ROW_LOSSES, loss)
  const { ops } = backend
  if (loss !== 'softmax_cross_entropy') return ops.elementLoss(output, labels, ELEMENT_LOSSES[loss], weights)
  const result = ops.softmaxCrossEntropy(output, labels, weights)
  return { loss: result.loss, gradient: result.logitsGradient }
}

/**
 * The loss of `model`, which must fit its output.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`, `ERR_CTC_BLANK`,
 *   `ERR_LAYERS_DO_NOT_FIT`
 */
export function checkLoss(action: string, loss: unknown, { graph }: { readonly graph: ModelGraph }): CheckedLoss {
  const { outputs } = graph
  if (!isNamedModel(graph) || typeof loss === 'function') return lossOfOutput(action, loss, graph, outputs[0])
  const losses = typeof loss === 'string' ? Object.fromEntries(outputs.map(({ name }) => [name, loss])) : loss
  const named = checkNamed(action, 'loss', outputs, losses)
  return Object.fromEntries(
    outputs.map((output) => [output.name, lossOfOutput(action, named[output.name], graph, output)]),
  )
}

/** The loss of an output, which must fit. Throws as {@link checkLoss}. */
function lossOfOutput(
  action: string,
  loss: unknown,
  graph: ModelGraph,
  output: ModelGraph['outputs'][number],
): OneLoss {
  const checked = knownLoss(action, loss)
  if (!isCtc(checked)) return checked
  const { isSequence, features } = output.signal
  if (!isSequence || features === null || features < 2) {
    const before = graph.nameOf(output.value)
    const actual = signalText(output.signal)
    throw codedRangeError(
      'ERR_LAYERS_DO_NOT_FIT',
      `Cannot ${action} as the loss ctc takes logits [T,B,K] of labels and the blank, K >= 2: ${before} (${graph.kindOf(output.value)}) before it gives ${actual}`,
      { layer: 'ctc', expected: '[T,B,K]', before, actual },
    )
  }
  ctcBlank(action, checked, features)
  return checked
}

/** A loss without a model. Throws as {@link checkLoss}. */
function knownLoss(action: string, loss: unknown): OneLoss {
  if (typeof loss === 'function') return loss as LossFunction
  const isObject = typeof loss === 'object' && loss !== null
  const given = (isObject ? loss : { name: loss }) as Partial<CtcLoss>
  const name = LOSSES.find((known) => known === given.name)
  if (name === undefined) throw unknownLoss(action, LOSSES, loss)
  if (name !== 'ctc') {
    checkNames(action, given, ['name'])
    return name
  }
  checkCtcLossSettings(action, given, ['name'])
  return { ...given, name }
}

export function isCtc(loss: CheckedLoss | undefined): loss is CtcLoss {
  return typeof loss === 'object' && loss['name'] === 'ctc'
}

export function isNamedLosses(loss: CheckedLoss): loss is CheckedLosses {
  return typeof loss === 'object' && !isCtc(loss)
}

function unknownLoss(action: string, known: readonly LossName[], loss: unknown) {
  return invalidOption(action, 'loss', known, loss)
}

/** How many rows count, and how many of them have their largest output, or their sign, at the label. */
export function countHits(
  loss: RowLossName,
  output: Tensor<FloatArray>,
  labels: Tensor,
  weights: Tensor<FloatArray> | undefined,
): { readonly hits: number; readonly total: number } {
  const columns = output.shape[output.shape.length - 1]
  const rows = output.data.length / columns
  let [hits, total] = [0, 0]
  for (let n = 0; n < rows; n++) {
    const weight = weights?.data[n] ?? 1
    total += weight
    if (weight === 0) continue
    const row = output.data.subarray(n * columns, (n + 1) * columns)
    if (loss === 'softmax_cross_entropy') hits += weight * Number(indexOfLargest(row) === labels.data[n])
    else if (loss === 'sigmoid_cross_entropy') {
      hits += (weight * row.filter((value, k) => value > 0 === labels.data[n * columns + k] > 0.5).length) / columns
    }
  }
  return { hits, total }
}

function indexOfLargest(row: FloatArray): number {
  let best = 0
  for (let index = 1; index < row.length; index++) if (row[index] > row[best]) best = index
  return best
}
