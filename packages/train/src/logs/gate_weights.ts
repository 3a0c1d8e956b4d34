import { checkArguments, methods } from '@cudnn-rnn/canonical/rules'
import type { BackendTensor } from '@cudnn-rnn/ops'
import {
  type CanonicalParams,
  checkDescriptor,
  type FloatArray,
  paramRegions,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'

/** The used members of a recurrent model; the models of @cudnn-rnn/models have them. */
export interface CanonicalReader {
  readonly descriptor: RnnDescriptor
  paramsToCanonical(params: BackendTensor): Promise<CanonicalParams>
}

export interface GateWeights {
  /** `layer_0/forward/recurrent/forget`: layer, direction, side and gate; a projection has no gate. */
  readonly name: string
  readonly values: FloatArray
}

const MODEL = methods('a model such as new CudnnLSTM(…)', 'paramsToCanonical')

/**
 * The weight matrices inside an opaque buffer, gate by gate, absent ones omitted; for {@link EventFile.histogram} and reports.
 *
 * @example
 * ```ts
 * import { CudnnGRU, openBackend } from '@cudnn-rnn/rnn'
 * import { gateWeights } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 4, inputSize: 3 })
 * const gates = await gateWeights(gru, gru.createParams({ seed: 1 }).value)
 * console.log(gates.length, gates[0]?.name, gates[0]?.values.length) // 6 layer_0/forward/input/reset 12
 * ```
 */
export async function gateWeights(model: CanonicalReader, params: BackendTensor): Promise<GateWeights[]> {
  checkArguments('read weights', { model }, { model: MODEL })
  checkDescriptor(model.descriptor)
  const { weights } = await model.paramsToCanonical(params)
  const regions = paramRegions(model.descriptor).weights
  return regions.flatMap(({ layer, direction, side, gate, size }, index) => {
    const path = [
      `layer_${layer}`,
      direction === 0 ? 'forward' : 'backward',
      side,
      ...(gate === undefined ? [] : [gate]),
    ]
    return size === 0 ? [] : [{ name: path.join('/'), values: weights[index].data }]
  })
}
