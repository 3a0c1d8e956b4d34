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

/** The shapes of each network's last pass. The next pass usually has the same sizes, and freezing them takes a tenth of a short call. */
const last = new WeakMap<RnnDescriptor, PassShapes>()

export function passShapes(
  descriptor: RnnDescriptor,
  { time, batch }: { readonly time: number; readonly batch: number },
): PassShapes {
  const kept = last.get(descriptor)
  if (kept !== undefined && kept.input[0] === time && kept.input[1] === batch) return kept
  const pseudoLayers = numPseudoLayers(descriptor)
  // Frozen: the tensors of these shapes keep them without a copy.
  const shapes = {
    input: Object.freeze([time, batch, descriptor.inputSize]),
    output: Object.freeze([time, batch, outputSize(descriptor)]),
    h: Object.freeze([pseudoLayers, batch, hiddenColumns(descriptor)]),
    c: descriptor.cellMode === 'lstm' ? Object.freeze([pseudoLayers, batch, descriptor.numUnits]) : undefined,
  }
  if (Object.isFrozen(descriptor)) last.set(descriptor, shapes)
  return shapes
}
