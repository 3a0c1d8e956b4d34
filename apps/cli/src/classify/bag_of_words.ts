import { Adam, type Backend, dense, sequential } from '@cudnn-rnn/rnn'
import type { LabeledText, TextClassifier } from '@cudnn-rnn/rnn/tasks'
import type { TextParts } from './split_texts.js'

const BATCH = 32
const EPOCHS = 30
const RATE = 0.01

/** Tried in turn; the one that does best on the validation part stays. */
const WEIGHT_DECAYS = [0.001, 0.1]

/**
 * The baseline: logistic regression on which words occur, without their order (the logarithm of one more than their
 * count). It reads the same words as the network and is regularized as the validation part likes best.
 *
 * @returns the class that it takes each text of the test part for.
 */
export async function bagOfWordsPredictions(
  backend: Backend,
  classifier: TextClassifier,
  { train, validation, test }: TextParts,
  seed: number,
): Promise<number[]> {
  const examples = (texts: readonly LabeledText[]) => {
    const labeled = classifier.examples(texts)
    return labeled.map(({ input, label }) => ({ input: bag(input as Int32Array, vocabularySize), label }))
  }
  const vocabularySize = classifier.encoding.words.size
  const [learned, validated, tested] = [examples(train), examples(validation), examples(test)]
  let best = { accuracy: -1, predictions: [] as number[] }
  for (const weightDecay of WEIGHT_DECAYS) {
    const options = { seed, inputSize: vocabularySize, isSequence: false }
    using model = sequential(backend, [dense({ units: classifier.labels.length, name: 'bag' })], options)
    await model.fit(learned, {
      loss: 'softmax_cross_entropy',
      optimizer: (variables) =>
        new Adam(variables, { weightDecay: ({ name }) => (name === 'bag/kernel' ? weightDecay : 0) }),
      learningRate: RATE,
      epochs: EPOCHS,
      batchSize: BATCH,
      // Its steps are not those that the command shows.
      progress: false,
    })
    const { accuracy = 0 } = await model.evaluate(validated, { batchSize: BATCH })
    if (accuracy <= best.accuracy) continue
    const logits = await model.predict(tested.map(({ input }) => input))
    best = { accuracy, predictions: logits.map(({ data }) => data.indexOf(Math.max(...data) as never)) }
  }
  return best.predictions
}

/** [V] */
function bag(ids: Int32Array, vocabularySize: number) {
  const counts = new Float32Array(vocabularySize)
  for (const id of ids) counts[id]++
  return { data: counts.map(Math.log1p), shape: [vocabularySize] }
}
