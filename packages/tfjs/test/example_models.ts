import * as tf from '@tensorflow/tfjs'
import { evaluate, randomTensor, randomWeights, type Training } from './oracle.js'

/** A compiled model with seeded weights, and one batch for it. */
export interface ExampleModel {
  readonly model: tf.LayersModel
  readonly x: tf.Tensor | tf.Tensor[]
  readonly y: tf.Tensor
}

const BATCH = 4

/** Token ids 1..size-1 of a seed [B,T], the last `padding` steps of every other row 0. */
function tokens(time: number, size: number, seed: number, padding = 0): tf.Tensor {
  return tf.tidy(() => {
    const ids = tf.floor(tf.randomUniform([BATCH, time], 1, size, 'float32', seed))
    const step = tf.range(0, time).expandDims(0)
    const ends = tf.tensor2d([...Array(BATCH).keys()].map((row) => [row % 2 === 0 ? time : time - padding]))
    return ids.mul(step.less(ends).cast('float32'))
  })
}

/** [B,T,size] of {@link tokens}. */
function oneHotTokens(time: number, size: number, seed: number): tf.Tensor {
  return tf.tidy(() => tf.oneHot(tokens(time, size, seed).cast('int32'), size).cast('float32'))
}

/** [B,size], one class a row. */
function oneHotClasses(size: number, seed: number): tf.Tensor {
  return tf.tidy(() => oneHotTokens(1, size, seed).reshape([BATCH, size]))
}

function compiled(model: tf.LayersModel, loss: string, optimizer: string): tf.LayersModel {
  model.compile({ loss, optimizer })
  randomWeights(model, 7, 0.4)
  return model
}

/** `lstm-text-generation`: LSTMs over windows of one-hot characters, and the next character. */
function textGeneration(): ExampleModel {
  const [time, characters] = [8, 7]
  const model = tf.sequential()
  for (const [index, units] of [6, 5].entries()) {
    model.add(
      tf.layers.lstm({
        units,
        returnSequences: index === 0,
        ...(index === 0 ? { inputShape: [time, characters] } : {}),
      }),
    )
  }
  model.add(tf.layers.dense({ units: characters, activation: 'softmax' }))
  return {
    model: compiled(model, 'categoricalCrossentropy', 'rmsprop'),
    x: oneHotTokens(time, characters, 1),
    y: oneHotClasses(characters, 2),
  }
}

/** `sentiment`: word vectors, a recurrent layer, one probability. */
function sentiment(recurrent: () => tf.layers.Layer): ExampleModel {
  const [time, words] = [9, 12]
  const model = tf.sequential()
  model.add(tf.layers.embedding({ inputDim: words, outputDim: 5, inputLength: time }))
  model.add(recurrent())
  model.add(tf.layers.dense({ units: 1, activation: 'sigmoid' }))
  return {
    model: compiled(model, 'binaryCrossentropy', 'adam'),
    x: tokens(time, words, 3, 4),
    y: tf.tensor2d([[0], [1], [1], [0]]),
  }
}

/** `addition-rnn`: the question's last output, repeated for each character of the answer. */
function addition(recurrent: (options: object) => tf.layers.Layer): ExampleModel {
  const [question, answer, characters] = [7, 4, 12]
  const options = { units: 6, recurrentInitializer: 'glorotNormal' }
  const model = tf.sequential()
  model.add(recurrent({ ...options, inputShape: [question, characters] }))
  model.add(tf.layers.repeatVector({ n: answer }))
  model.add(recurrent({ ...options, returnSequences: true }))
  model.add(tf.layers.timeDistributed({ layer: tf.layers.dense({ units: characters }) }))
  model.add(tf.layers.activation({ activation: 'softmax' }))
  return {
    model: compiled(model, 'categoricalCrossentropy', 'adam'),
    x: oneHotTokens(question, characters, 4),
    y: oneHotTokens(answer, characters, 5),
  }
}

class LastStep extends tf.layers.Layer {
  static readonly className = 'LastStep'

  constructor(options: { name?: string } = {}) {
    super(options)
    this.supportsMasking = true
  }

  override computeOutputShape(shape: tf.Shape): tf.Shape {
    return [shape[0] as number | null, shape[2] as number]
  }

  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    const [x] = [inputs].flat() as [tf.Tensor]
    return tf.squeeze(tf.gather(x, [(x.shape[1] as number) - 1], 1), [1])
  }
}

/** `date-conversion-attention`: masked encoder and decoder, the decoder's attention over the encoder. */
function dateConversion(): ExampleModel {
  const [question, answer, inputSize, outputSize, units] = [7, 5, 9, 8, 6]
  const encoderInput = tf.input({ shape: [question] })
  const decoderInput = tf.input({ shape: [answer] })
  const embedded = (input: tf.SymbolicTensor, inputDim: number, inputLength: number) =>
    tf.layers.embedding({ inputDim, outputDim: units, inputLength, maskZero: true }).apply(input) as tf.SymbolicTensor
  const encoder = tf.layers
    .lstm({ units, returnSequences: true })
    .apply(embedded(encoderInput, inputSize, question)) as tf.SymbolicTensor
  const last = new LastStep().apply(encoder) as tf.SymbolicTensor
  const decoder = tf.layers
    .lstm({ units, returnSequences: true })
    .apply(embedded(decoderInput, outputSize, answer), { initialState: [last, last] }) as tf.SymbolicTensor
  const scores = tf.layers.dot({ axes: [2, 2] }).apply([decoder, encoder]) as tf.SymbolicTensor
  const attention = tf.layers.activation({ activation: 'softmax' }).apply(scores) as tf.SymbolicTensor
  const context = tf.layers.dot({ axes: [2, 1] }).apply([attention, encoder]) as tf.SymbolicTensor
  let output = tf.layers.concatenate().apply([context, decoder]) as tf.SymbolicTensor
  for (const [size, activation] of [
    [units, 'tanh'],
    [outputSize, 'softmax'],
  ] as const) {
    const layer = tf.layers.dense({ units: size, activation })
    output = tf.layers.timeDistributed({ layer }).apply(output) as tf.SymbolicTensor
  }
  const model = tf.model({ inputs: [encoderInput, decoderInput], outputs: output })
  return {
    model: compiled(model, 'categoricalCrossentropy', 'adam'),
    x: [tokens(question, inputSize, 6, 3), tokens(answer, outputSize, 7, 2)],
    y: oneHotTokens(answer, outputSize, 8),
  }
}

/** `jena-weather`: a GRU or a simple RNN over measurements, and one number. */
export function jenaWeather(
  recurrent: 'gru' | 'simpleRNN',
  options: { dropout?: number; recurrentDropout?: number } = {},
): ExampleModel {
  const [time, features] = [10, 5]
  const model = tf.sequential()
  model.add(tf.layers[recurrent]({ units: 6, inputShape: [time, features], ...options }))
  model.add(tf.layers.dense({ units: 1 }))
  return {
    model: compiled(model, 'meanAbsoluteError', 'rmsprop'),
    x: randomTensor([BATCH, time, features], 9),
    y: randomTensor([BATCH, 1], 10),
  }
}

/** `translation`: the encoder's final states are the decoder's initial ones; sequences of any length. */
function translation(): ExampleModel {
  const [question, answer, inputSize, outputSize, units] = [6, 5, 8, 7, 6]
  const encoderInput = tf.input({ shape: [null, inputSize] })
  const decoderInput = tf.input({ shape: [null, outputSize] })
  const [, ...states] = tf.layers.lstm({ units, returnState: true }).apply(encoderInput) as tf.SymbolicTensor[]
  const decoder = tf.layers.lstm({ units, returnSequences: true, returnState: true })
  const [outputs] = decoder.apply([decoderInput, ...states]) as [tf.SymbolicTensor]
  const dense = tf.layers.dense({ units: outputSize, activation: 'softmax' })
  const model = tf.model({
    inputs: [encoderInput, decoderInput],
    outputs: dense.apply(outputs) as tf.SymbolicTensor,
  })
  return {
    model: compiled(model, 'categoricalCrossentropy', 'rmsprop'),
    x: [oneHotTokens(question, inputSize, 11), oneHotTokens(answer, outputSize, 12)],
    y: oneHotTokens(answer, outputSize, 13),
  }
}

/**
 * Models of the recurrent examples of https://github.com/tensorflow/tfjs-examples: layers, options, losses and optimizers
 * come from the example of that name, in our words; the sizes and the data are small.
 */
export const EXAMPLE_MODELS: Readonly<Record<string, () => ExampleModel>> = {
  'lstm-text-generation': textGeneration,
  'sentiment, simpleRNN': () => sentiment(() => tf.layers.simpleRNN({ units: 6 })),
  'sentiment, lstm': () => sentiment(() => tf.layers.lstm({ units: 6 })),
  'sentiment, bidirectionalLSTM': () =>
    sentiment(() => {
      const layer = tf.layers.lstm({ units: 6 }) as tf.RNN
      return tf.layers.bidirectional({ layer, mergeMode: 'concat' })
    }),
  'addition-rnn, SimpleRNN': () => addition((options) => tf.layers.simpleRNN(options as never)),
  'addition-rnn, GRU': () => addition((options) => tf.layers.gru(options as never)),
  'addition-rnn, LSTM': () => addition((options) => tf.layers.lstm(options as never)),
  'date-conversion-attention': dateConversion,
  'jena-weather, gru': () => jenaWeather('gru'),
  'jena-weather, simpleRNN': () => jenaWeather('simpleRNN'),
  translation,
}

/**
 * Outputs and gradients with respect to the weights, the losses of some updates on the batch, then the prediction.
 * Disposes the model and the data.
 */
export async function train(make: () => ExampleModel, updates = 4): Promise<Training> {
  const { model, x, y } = make()
  const before = evaluate(() => [model.apply(x) as tf.Tensor], [], model)
  const losses: number[] = []
  for (let update = 0; update < updates; update++) losses.push((await model.trainOnBatch(x, y)) as number)
  const prediction = tf.tidy(() => (model.predict(x) as tf.Tensor).dataSync<'float32'>().slice())
  model.dispose()
  tf.dispose([x, y])
  return { before, losses, prediction }
}
