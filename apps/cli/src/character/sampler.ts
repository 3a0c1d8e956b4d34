import type { LayersModel } from '@cudnn-rnn/rnn'
import { generate, type Vocabulary } from '@cudnn-rnn/rnn/train'

export interface SamplingOptions {
  /** Characters to write after the prompt. */
  readonly length: number
  /** Divides the logits: below 1 more careful, above 1 wilder; 0 always takes the likeliest. */
  readonly temperature: number
  readonly seed: number
  /** Text the model reads first; at least one character. */
  readonly prompt: string
}

/** The wished text if the vocabulary has its characters, or else the first one that it has. */
export function promptIn({ symbols }: Vocabulary, wished: string): string {
  return [...wished].every((character) => symbols.includes(character)) ? wished : symbols[0]
}

/** Yields text that the model writes, character by character. Throws RangeError `ERR_UNKNOWN_SYMBOL` for the prompt. */
export async function* sample(
  model: LayersModel,
  vocabulary: Vocabulary,
  { prompt, ...options }: SamplingOptions,
): AsyncGenerator<string> {
  const promptIds = [...vocabulary.encode(prompt)]
  using stream = model.stream()
  const next = async (id: number) => {
    const logits = await stream.step({ data: Int32Array.of(id), shape: [1] })
    return logits.data as Float32Array
  }
  for await (const id of generate(next, { prompt: promptIds, ...options })) yield vocabulary.decode([id])
}
