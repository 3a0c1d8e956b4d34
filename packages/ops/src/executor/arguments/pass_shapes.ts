import { hiddenColumns, numPseudoLayers, outputSize, type RnnDescriptor } from '@cudnn-rnn/canonical'

/** Shapes of the sequences and states of one pass, and of their gradients. */
export interface PassShapes {
  /** [T,B,I] */
  readonly input: readonly number[]
  /** [T,B,D·(P or H)] */
  readonly output: readonly number[]
  /** [L·D,B,P or H] */
  readonly h: readonly number[]
  /** [L·D,B,H]; LSTM only. */
  readonly c: readonly number[] | undefined
}

export function passShapes(
  descriptor: RnnDescriptor,
  { time, batch }: { readonly time: number; readonly batch: number },
): PassShapes {
  const pseudoLayers = numPseudoLayers(descriptor)
  // Frozen: the tensors of these shapes keep them without a copy.
  return {
    input: Object.freeze([time, batch, descriptor.inputSize]),
    output: Object.freeze([time, batch, outputSize(descriptor)]),
    h: Object.freeze([pseudoLayers, batch, hiddenColumns(descriptor)]),
    c: descriptor.cellMode === 'lstm' ? Object.freeze([pseudoLayers, batch, descriptor.numUnits]) : undefined,
  }
}
