import { Dataset } from '@cudnn-rnn/rnn'
import { truncatedWindows } from '@cudnn-rnn/rnn/train'
import type { CharLanguageModel } from './char_language_model.js'

const EVALUATION_BATCH = 16
const EVALUATION_TIME = 50

/** Cross-entropy of the model on `ids` in bits per character, the state carried along each of 16 rows. */
export async function bitsPerCharacter(model: CharLanguageModel, ids: Int32Array): Promise<number> {
  const batch = Math.max(1, Math.min(EVALUATION_BATCH, Math.floor(ids.length / (EVALUATION_TIME + 1))))
  using state = model.carriedState(batch)
  let nats = 0
  let windows = 0
  for await (const window of new Dataset(truncatedWindows(ids, { time: EVALUATION_TIME, batch }))) {
    nats += await model.evaluate(window, state)
    windows++
  }
  return nats / windows / Math.LN2
}
