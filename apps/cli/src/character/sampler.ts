import { generate, type Vocabulary } from '@cudnn-rnn/rnn/train'
import type { CharLanguageModel } from './char_language_model.js'

export interface SamplingOptions {
  /** Characters to write after the prompt. */
  readonly length: number
  /** Divides the logits: below 1 more careful, above 1 wilder; 0 always takes the likeliest. */
  readonly temperature: number
  readonly seed: number
  /** Text the model reads first; at least one character. */
  readonly prompt: string
}

/** Yields text that the model writes, character by character. Throws RangeError `ERR_UNKNOWN_SYMBOL` for the prompt. */
export async function* sample(
  model: CharLanguageModel,
  vocabulary: Vocabulary,
  { prompt, ...options }: SamplingOptions,
): AsyncGenerator<string> {
  const promptIds = [...vocabulary.encode(prompt)]
  using stream = model.lstm.stream(model.params)
  const next = async (id: number) => {
    using x = model.backend.ops.embedding(model.embedding.value, { data: Int32Array.of(id), shape: [1] })
    return model.logitsOf(await stream.step(x))
  }
  for await (const id of generate(next, { prompt: promptIds, ...options })) yield vocabulary.decode([id])
}
