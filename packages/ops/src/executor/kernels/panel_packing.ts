import {
  type CanonicalParams,
  checkCanonical,
  type FloatArray,
  flatLayout,
  gatesOf,
  type ParamRegion,
  paramRegions,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import { selectedCanonical } from '../arguments/canonical_selection.js'
import type { KernelNetwork, RegionMove } from './kernel_boundary.js'
import type { KernelExecutor } from './kernel_executor.js'

const SIDES = ['input', 'recurrent', 'projection'] as const

/** Copies canonical tensors into the opaque buffer `params`. Throws as `packCanonical`. */
export function packPanels(
  executor: KernelExecutor,
  network: KernelNetwork,
  descriptor: RnnDescriptor,
  canonical: CanonicalParams,
  params: FloatArray,
): FloatArray {
  const checked = checkCanonical(flatLayout(descriptor), canonical, params)
  const regions = paramRegions(descriptor)
  const moves = (['weights', 'biases'] as const).flatMap((kind) =>
    regions[kind].map((region, index) => moveOf(descriptor, region, checked[kind][index].data)),
  )
  executor.moveRegions(network, params, moves, true)
  return params
}

/**
 * The canonical tensors of the opaque buffer `params`: the inverse of {@link packPanels}, bit for bit.
 *
 * @param selection as of `Rnn.paramsToCanonical`.
 */
export function unpackPanels(
  executor: KernelExecutor,
  network: KernelNetwork,
  descriptor: RnnDescriptor,
  params: FloatArray,
  selection?: ReadonlySet<number>,
): CanonicalParams {
  const moves: RegionMove[] = []
  const canonical = selectedCanonical(descriptor, selection, params, (region) => {
    const data = executor.memory.allocate(region.size)
    moves.push(moveOf(descriptor, region, data))
    return data
  })
  executor.moveRegions(network, params, moves, false)
  return canonical
}

function moveOf({ cellMode }: RnnDescriptor, region: ParamRegion, canonical: FloatArray): RegionMove {
  const { side, gate, pseudoLayer, kind } = region
  const gateIndex = gate === undefined ? 0 : gatesOf(cellMode).indexOf(gate as never)
  return { canonical, pseudoLayer, side: SIDES.indexOf(side), gate: gateIndex, isBias: kind === 'bias' }
}
