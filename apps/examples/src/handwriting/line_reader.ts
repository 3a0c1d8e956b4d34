import { type Backend, cudnnLSTM, dense, type LayerBatch, type LayersModel, sequential } from '@cudnn-rnn/rnn'
import type { PrefixScorer } from '@cudnn-rnn/rnn/ctc'
import { ALPHABET, textOf } from './generator/line_texts.js'
import { FRAME_SIZE } from './line_batch.js'

/** Features of a frame, learned from its pixels: fewer columns than pixels make the LSTM's first layer cheaper. */
const FEATURES = 64

/** Features of each frame of a line, a bidirectional CudnnLSTM over the frames, and a dense layer to letters and blank. */
export function lineReader(
  backend: Backend,
  { numUnits, numLayers, seed }: { readonly numUnits: number; readonly numLayers: number; readonly seed: number },
): LayersModel {
  return sequential(
    backend,
    [
      dense({ units: FEATURES, activation: 'relu' }),
      cudnnLSTM({ numLayers, numUnits, direction: 'bidirectional' }),
      dense({ units: ALPHABET.length + 1 }),
    ],
    { seed, inputSize: FRAME_SIZE },
  )
}

/** The texts of a batch: by the likeliest class of each frame, or by beam search with a language model. */
export async function readTexts<State = undefined>(
  reader: LayersModel,
  { input, sequenceLengths }: LayerBatch,
  search: { readonly scorer?: PrefixScorer<State>; readonly beamWidth?: number } = {},
): Promise<string[]> {
  return (await reader.decode(input, { loss: 'ctc', sequenceLengths, ...search })).map(textOf)
}
