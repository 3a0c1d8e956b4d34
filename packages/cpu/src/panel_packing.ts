import {
  type CanonicalParams,
  checkCanonical,
  type FloatArray,
  flatLayout,
  gatesOf,
  type ParamRegion,
  paramRegions,
  type RnnDescriptor,
  type Tensor,
} from '@cudnn-rnn/canonical'
import type { NativeNetwork } from './native_addon.js'

const SIDES = ['input', 'recurrent', 'projection'] as const

/** Copies canonical tensors into the opaque buffer `params`. Throws as `packCanonical`. */
export function packPanels(
  network: NativeNetwork,
  descriptor: RnnDescriptor,
  canonical: CanonicalParams,
  params: FloatArray,
): FloatArray {
  const checked = checkCanonical(flatLayout(descriptor), canonical, params)
  const regions = paramRegions(descriptor)
  for (const kind of ['weights', 'biases'] as const) {
    for (const [index, region] of regions[kind].entries()) {
      move(network, descriptor, region, params, checked[kind][index].data, true)
    }
  }
  return params
}

/** The canonical tensors of the opaque buffer `params`: the inverse of {@link packPanels}, bit for bit. */
export function unpackPanels(
  network: NativeNetwork,
  descriptor: RnnDescriptor,
  params: FloatArray,
  allocate: (length: number) => FloatArray,
): CanonicalParams {
  const regions = paramRegions(descriptor)
  const tensor = (region: ParamRegion): Tensor<FloatArray> => {
    const data = allocate(region.size)
    move(network, descriptor, region, params, data, false)
    return { data, shape: region.shape }
  }
  return { weights: regions.weights.map(tensor), biases: regions.biases.map(tensor) }
}

function move(
  network: NativeNetwork,
  { cellMode }: RnnDescriptor,
  { size, side, gate, pseudoLayer, kind }: ParamRegion,
  params: FloatArray,
  canonical: FloatArray,
  into: boolean,
): void {
  if (size === 0) return
  const gateIndex = gate === undefined ? 0 : gatesOf(cellMode).indexOf(gate as never)
  network.moveRegion(params, canonical, pseudoLayer, SIDES.indexOf(side), gateIndex, kind === 'bias', into)
}
