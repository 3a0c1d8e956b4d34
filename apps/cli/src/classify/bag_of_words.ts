import { Adam, type Backend, constantRate, Dataset, fit } from '@cudnn-rnn/rnn'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { DenseLayer } from '../dense_layer.js'
import { TensorScope } from '../tensor_scope.js'
import type { TextExample, TextExamples } from './text_examples.js'

const BATCH = 32
const EPOCHS = 30
const RATE = 0.01

/** Tried in turn; the one that does best on the validation part stays. */
const WEIGHT_DECAYS = [0.001, 0.1]

/** Predictions run in pieces, so that a large part needs no large tensor. */
const PIECE = 256

/**
 * The baseline: logistic regression on which words occur, without their order (the logarithm of one more than their
 * count). It reads the same words as the network and is regularised as the validation part likes best.
 *
 * @returns the class that it takes each example of the test part for.
 */
export async function bagOfWordsPredictions(backend: Backend, examples: TextExamples, seed: number): Promise<number[]> {
  let best = { right: -1, predictions: [] as number[] }
  for (const weightDecay of WEIGHT_DECAYS) {
    const layer = new DenseLayer(backend, 'bag', [examples.words.size, examples.labels.size], new Philox(seed))
    try {
      await train(backend, layer, examples, { weightDecay, seed })
      const validation = await predictions(layer, examples, examples.validation)
      const right = validation.filter((label, n) => label === examples.validation[n]!.label).length
      if (right > best.right) best = { right, predictions: await predictions(layer, examples, examples.test) }
    } finally {
      layer.dispose()
    }
  }
  return best.predictions
}

async function train(
  backend: Backend,
  layer: DenseLayer,
  { words, train: part }: TextExamples,
  { weightDecay, seed }: { readonly weightDecay: number; readonly seed: number },
): Promise<void> {
  const { ops } = backend
  using optimizer = new Adam(backend, layer.variables, {
    weightDecay,
    decayMask: (variable) => variable.name === layer.kernel.name,
  })
  await fit({
    backend,
    data: Dataset.fromArray(part).shuffle({ bufferSize: part.length, seed }).repeat(EPOCHS).batch(BATCH),
    async batchGradients(batch) {
      const scope = new TensorScope()
      try {
        const x = bags(batch, words.size)
        const labels = { data: Int32Array.from(batch, ({ label }) => label), shape: [batch.length] }
        const { loss, logitsGradient } = scope.ownAll(ops.softmaxCrossEntropy(scope.own(layer.call(x)), labels))
        const { input, kernel, bias } = layer.gradients(x, logitsGradient)
        scope.own(input)
        return { loss: (await loss.read()).data[0]!, gradients: [kernel, bias] }
      } finally {
        scope.dispose()
      }
    },
    optimizer,
    learningRate: constantRate(RATE),
    maxSteps: Math.ceil((EPOCHS * part.length) / BATCH),
  })
}

async function predictions(layer: DenseLayer, { words, labels }: TextExamples, part: readonly TextExample[]) {
  const result: number[] = []
  for (let from = 0; from < part.length; from += PIECE) {
    using logits = layer.call(bags(part.slice(from, from + PIECE), words.size))
    result.push(...likeliest((await logits.read()).data as Float32Array, labels.size))
  }
  return result
}

/** [N,V] */
function bags(examples: readonly TextExample[], vocabularySize: number) {
  const data = new Float32Array(examples.length * vocabularySize)
  for (const [row, { ids }] of examples.entries()) for (const id of ids) data[row * vocabularySize + id]!++
  return { data: data.map(Math.log1p), shape: [examples.length, vocabularySize] }
}

/** The class with the largest logit of each row of [N,classes]. */
export function likeliest(logits: Float32Array, classes: number): number[] {
  return Array.from({ length: logits.length / classes }, (_, row) => {
    const values = logits.subarray(row * classes, (row + 1) * classes)
    return values.indexOf(Math.max(...values))
  })
}
