import {
  abortable,
  checkArguments,
  checkOptions,
  FUNCTION,
  integerFrom,
  listOf,
  NUMBER,
  type OptionsOf,
  optional,
  SIGNAL,
} from '@cudnn-rnn/canonical/rules'
import type { FloatArray } from '@cudnn-rnn/canonical'
import { Philox } from '@cudnn-rnn/ops/executor'
import { SAMPLING_OPTIONS, type SamplingOptions, sampleToken } from './sample_token.js'

const OPTIONS = {
  ...SAMPLING_OPTIONS,
  /** Ids the model reads before the first is drawn: at least one. */
  prompt: listOf(integerFrom(0), 1),
  /** Most ids to draw; default endless. */
  length: optional(NUMBER),
  /** Drawing it ends the generation; it is not yielded. */
  endId: optional(NUMBER),
  /** Default 0. */
  seed: optional(integerFrom(0)),
  /** Once it is aborted, the generation throws its reason, also while the model computes. */
  signal: optional(SIGNAL),
}

export interface GenerateOptions extends SamplingOptions, OptionsOf<typeof OPTIONS> {}

/**
 * Streams ids from a model as they are drawn; a consumer that stops reading stops the model.
 *
 * @param next reads one id, carries the state itself, and returns the logits [V] of the one that follows.
 * @throws as {@link sampleToken}; the signal's reason once it is aborted
 * @example
 * ```ts
 * import { generate } from '@cudnn-rnn/rnn/train'
 *
 * // A model that always continues with the next id.
 * const next = (id: number) => Float32Array.from({ length: 10 }, (_, candidate) => (candidate === id + 1 ? 50 : 0))
 * const ids: number[] = []
 * for await (const id of generate(next, { prompt: [2], length: 4, temperature: 0 })) ids.push(id)
 * console.log(ids) // [3, 4, 5, 6]
 * ```
 */
export async function* generate(
  next: (id: number) => FloatArray | Promise<FloatArray>,
  options: GenerateOptions,
): AsyncGenerator<number, void, undefined> {
  checkArguments('generate', { next }, { next: FUNCTION })
  const {
    prompt,
    length = Number.POSITIVE_INFINITY,
    endId,
    seed = 0,
    signal,
    temperature,
    topK,
    topP,
  } = checkOptions('generate', options, OPTIONS)
  const random = new Philox(seed)
  let logits: FloatArray = new Float32Array(0)
  const read = async (id: number) => {
    if (signal?.aborted) throw signal.reason
    return await abortable(signal, Promise.resolve(next(id)))
  }
  for (const id of prompt) logits = await read(id)
  for (let drawn = 0; drawn < length; drawn++) {
    if (signal?.aborted) throw signal.reason
    const id = sampleToken(logits, random, { temperature, topK, topP })
    if (id === endId) return
    yield id
    if (drawn + 1 < length) logits = await read(id)
  }
}
