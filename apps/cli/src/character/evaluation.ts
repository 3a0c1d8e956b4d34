import { type Communicator, Dataset, type LayersModel } from '@cudnn-rnn/rnn'
import { truncatedWindows } from '@cudnn-rnn/rnn/train'
import { windowBatch } from './char_language_model.js'

const EVALUATION_BATCH = 16
const EVALUATION_TIME = 50

/**
 * Cross-entropy of the model on `ids` in bits per character, the state carried along each of 16 rows; over ranks each
 * evaluates its rows.
 */
export async function bitsPerCharacter(
  model: LayersModel,
  ids: Int32Array,
  communicator?: Communicator,
): Promise<number> {
  const batch = Math.max(1, Math.min(EVALUATION_BATCH, Math.floor(ids.length / (EVALUATION_TIME + 1))))
  const windows = new Dataset(truncatedWindows(ids, { time: EVALUATION_TIME, batch }))
  const { loss } = await model.evaluate(windows.map(windowBatch), { loss: 'softmax_cross_entropy', communicator })
  return loss / Math.LN2
}
