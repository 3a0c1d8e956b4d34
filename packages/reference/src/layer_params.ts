import {
  type FloatArray,
  hiddenColumns,
  layerInputSize,
  numDirections,
  numGates,
  numPseudoLayers,
  type ParamLayout,
  type PlacedRegion,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import { type HostMemory, matrix, type MatrixView } from '@cudnn-rnn/ops/executor'

/** Positions of the parameters of one layer and direction in the flat buffer; undefined for absent ones. */
export interface LayerParams {
  /** Size of one input vector of this layer. */
  readonly inputSize: number
  /** W [G·H, in]; absent at layer 0 with skip_input. */
  readonly inputMatrix: number | undefined
  /** R [G·H, P or H] */
  readonly recurrentMatrix: number
  /** [P, H] */
  readonly projection: number | undefined
  /** b_W [G·H] */
  readonly inputBias: number | undefined
  /** b_R [G·H] */
  readonly recurrentBias: number | undefined
}

/** Offsets of every pseudo-layer's parameters: the gates of one side are contiguous, so they are one matrix. */
export function layerParams(descriptor: RnnDescriptor, layout: ParamLayout): LayerParams[] {
  // The first region of a side that is there. Networks of many layers need the index.
  const places = new Map<string, number>()
  for (const { kind, pseudoLayer, side, size, offset } of [...layout.weights, ...layout.biases]) {
    const key = `${kind} ${pseudoLayer} ${side}`
    if (size > 0 && !places.has(key)) places.set(key, offset)
  }
  const offset = (kind: PlacedRegion['kind'], pseudoLayer: number, side: PlacedRegion['side']) =>
    places.get(`${kind} ${pseudoLayer} ${side}`)
  return Array.from({ length: numPseudoLayers(descriptor) }, (_, pseudoLayer) => ({
    inputSize: layerInputSize(descriptor, Math.floor(pseudoLayer / numDirections(descriptor))),
    inputMatrix: offset('weight', pseudoLayer, 'input'),
    // Every network has recurrent matrices.
    recurrentMatrix: offset('weight', pseudoLayer, 'recurrent') as number,
    projection: offset('weight', pseudoLayer, 'projection'),
    inputBias: offset('bias', pseudoLayer, 'input'),
    recurrentBias: offset('bias', pseudoLayer, 'recurrent'),
  }))
}

/** The matrices of one pseudo-layer as views of a flat buffer: of the parameters, or of their gradient. */
export interface LayerMatrices {
  readonly input: MatrixView | undefined
  readonly recurrent: MatrixView
  readonly projection: MatrixView | undefined
}

export function layerMatrices(descriptor: RnnDescriptor, params: LayerParams, flat: FloatArray): LayerMatrices {
  return {
    input: params.inputMatrix === undefined ? undefined : matrix(flat, params.inputSize, params.inputMatrix),
    recurrent: matrix(flat, hiddenColumns(descriptor), params.recurrentMatrix),
    projection: params.projection === undefined ? undefined : matrix(flat, descriptor.numUnits, params.projection),
  }
}

/** Rows of the gate matrices: G·H. */
export function gateRows(descriptor: RnnDescriptor): number {
  return numGates(descriptor) * descriptor.numUnits
}

/** A network ready for a pass or a stream: its descriptor, the positions of its parameters, and its memory. */
export interface PreparedNetwork {
  readonly descriptor: RnnDescriptor
  /** By pseudo-layer. */
  readonly layers: readonly LayerParams[]
  readonly memory: HostMemory
}
