import { checkOptionNames, codedRangeError, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { batchesOf, type LayerData } from './batches.js'
import { checkLoss, countHits, type LossName, lossOf } from './losses.js'
import { weightsOf } from './model_pass.js'
import type { WholeModel } from './whole_model.js'

export interface EvaluateOptions {
  /** Default: the loss that the model was trained with. */
  readonly loss?: LossName | undefined
  /** Rows of a batch, where the data are examples. */
  readonly batchSize?: number | undefined
}

export interface ModelMetrics {
  readonly [name: string]: number
  /** Mean over all rows that count. */
  readonly loss: number
}

/** `SequentialModel.evaluate` */
export async function evaluateModel(
  model: WholeModel,
  data: LayerData,
  options: EvaluateOptions,
): Promise<ModelMetrics> {
  const action = 'evaluate'
  checkOptionNames(action, options, ['loss', 'batchSize'])
  if (options.loss === undefined && model.loss === undefined) {
    throw codedRangeError(
      'ERR_NO_LOSS',
      'Cannot evaluate as the loss must be given of a model that was not trained: current loss is undefined',
    )
  }
  const loss = checkLoss(action, options.loss ?? model.loss)
  const { executor: backend, input, output } = model
  const shape = { input, output, dtype: backend.dtype, loss }
  let [sum, rows, hits] = [0, 0, 0]
  for await (const batch of batchesOf(data, { batchSize: options.batchSize }, shape)) {
    const pass = await model.call(batch.input, { isTraining: false, sequenceLengths: batch.sequenceLengths })
    using result = pass.output
    const weights = weightsOf(model, batch, backend.dtype)
    const { loss: mean, gradient } = lossOf(backend, loss, result, batch.labels, weights)
    gradient.dispose()
    using scalar = mean
    const [value, outputs] = [(await scalar.read()).data[0], (await result.read()) as Tensor<FloatArray>]
    const counted = countHits(loss, outputs, batch.labels, weights as Tensor<FloatArray> | undefined)
    // A batch without a row that counts has a loss of 0.
    sum += value * counted.total
    rows += counted.total
    hits += counted.hits
  }
  const isClassified = loss === 'softmax_cross_entropy' || loss === 'sigmoid_cross_entropy'
  return { loss: sum / rows, ...(isClassified && { accuracy: hits / rows }) }
}
