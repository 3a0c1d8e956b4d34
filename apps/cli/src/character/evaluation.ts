import { type Communicator, Dataset, type LayersModel } from '@cudnn-rnn/rnn'
import { NGramModel } from '@cudnn-rnn/rnn/ctc'
import { truncatedWindows } from '@cudnn-rnn/rnn/train'
import { windowBatch } from './char_language_model.js'
import type { TextCorpus } from './text_corpus.js'

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

/** A baseline to beat: bits of every held-out character but the first by an n-gram model of the text to learn from. */
export function ngramBits({ vocabulary: { symbols }, train, heldOut }: TextCorpus, order: number): number {
  const charactersOf = (ids: Int32Array) => Array.from(ids, (id) => symbols[id])
  const model = NGramModel.train([charactersOf(train)], { order })
  const text = charactersOf(heldOut)
  let nats = 0
  for (let k = 1; k < text.length; k++) nats -= model.logProbability(text.slice(Math.max(0, k - order + 1), k), text[k])
  return nats / Math.LN2 / (text.length - 1)
}
