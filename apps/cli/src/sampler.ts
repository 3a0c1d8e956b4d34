import { Philox } from '@cudnn-rnn/rnn'
import type { CharLanguageModel } from './char_language_model.js'
import type { Vocabulary } from './vocabulary.js'

export interface SamplingOptions {
  /** Characters to write after the prompt. */
  readonly length: number
  /** Divides the logits: below 1 more careful, above 1 wilder; 0 always takes the likeliest. */
  readonly temperature: number
  readonly seed: number
  /** Text the model reads first; at least one character. */
  readonly prompt: string
}

/** Sampling draws from a stream of its own. */
const SAMPLING_STREAM = 4

/** Yields text that the model writes, character by character. Throws RangeError `ERR_UNKNOWN_CHARACTER` for the prompt. */
export async function* sample(
  model: CharLanguageModel,
  vocabulary: Vocabulary,
  { length, temperature, seed, prompt }: SamplingOptions,
): AsyncGenerator<string> {
  const promptIds = vocabulary.encode(prompt)
  const random = new Philox(seed, SAMPLING_STREAM)
  using stream = model.lstm.stream(model.params)
  let probabilities = new Float64Array(vocabulary.size)
  for (const id of promptIds) probabilities = await nextProbabilities(model, stream, id, temperature)
  for (let written = 0; written < length; written++) {
    const id = draw(probabilities, random.uniform())
    yield vocabulary.decode([id])
    if (written + 1 < length) probabilities = await nextProbabilities(model, stream, id, temperature)
  }
}

/** Feeds one character and returns the distribution of the next one. */
async function nextProbabilities(
  model: CharLanguageModel,
  stream: ReturnType<CharLanguageModel['lstm']['stream']>,
  id: number,
  temperature: number,
): Promise<Float64Array<ArrayBuffer>> {
  const { ops } = model.backend
  using x = ops.embedding(model.embedding.value, { data: Int32Array.of(id), shape: [1] })
  const hidden = await stream.step(x)
  using logits = ops.linear(hidden, model.kernel.value, model.bias.value)
  return softmax((await logits.read()).data, temperature)
}

/** Softmax of logits / temperature; temperature 0 puts everything on the largest. */
function softmax(logits: ArrayLike<number>, temperature: number): Float64Array<ArrayBuffer> {
  const values = Float64Array.from(logits)
  const maximum = values.reduce((largest, value) => Math.max(largest, value), Number.NEGATIVE_INFINITY)
  if (temperature === 0) return values.fill(0).fill(1, argmax(logits), argmax(logits) + 1)
  for (let index = 0; index < values.length; index++) values[index] = Math.exp((values[index]! - maximum) / temperature)
  const sum = values.reduce((total, value) => total + value, 0)
  return values.map((value) => value / sum)
}

function argmax(values: ArrayLike<number>): number {
  let best = 0
  for (let index = 1; index < values.length; index++) if (values[index]! > values[best]!) best = index
  return best
}

/** The index at which the cumulated probability passes `uniform`. */
function draw(probabilities: Float64Array, uniform: number): number {
  let cumulated = 0
  for (let index = 0; index < probabilities.length; index++) {
    cumulated += probabilities[index]!
    if (uniform < cumulated) return index
  }
  return argmax(probabilities)
}
