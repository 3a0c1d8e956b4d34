import {
  type Backend,
  cudnnLSTM,
  dense,
  embedding,
  type LayerBatch,
  type LayersModel,
  sequential,
} from '@cudnn-rnn/rnn'
import type { RecurrentLayer } from '@cudnn-rnn/rnn/layers'
import type { TokenWindow } from '@cudnn-rnn/rnn/train'

/** Sizes of a character language model; saved with every run. */
export interface CharModelSizes {
  /** V */
  readonly vocabularySize: number
  readonly embeddingSize: number
  readonly numUnits: number
  readonly numLayers: number
  /** Drop probability between layers. */
  readonly dropout: number
}

/** Embedding → CudnnLSTM → linear: class ids [T,B] to logits [T,B,V] of the next characters. */
export function charLanguageModel(backend: Backend, sizes: CharModelSizes, seed: number): LayersModel {
  const { vocabularySize, embeddingSize, numUnits, numLayers, dropout } = sizes
  return sequential(
    backend,
    [
      embedding({ size: vocabularySize, units: embeddingSize, initializer: { uniform: 0.5 } }),
      // A forget bias of 1 keeps the first gradients alive over a window (Jozefowicz et al. 2015).
      cudnnLSTM({ numLayers, numUnits, dropout, forgetBias: 1, name: 'lstm' }),
      dense({ units: vocabularySize, name: 'output' }),
    ],
    { seed },
  )
}

export function recurrentLayer({ layers }: LayersModel): RecurrentLayer {
  return layers[1] as RecurrentLayer
}

/** A window as a batch that carries the states of the window before. */
export function windowBatch({ inputs, labels, restarts }: TokenWindow): LayerBatch {
  return { input: inputs, labels, restarts }
}
