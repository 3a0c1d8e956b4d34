import { RNNParamsSaveable, TensorSaveable } from '../src/index.js'
import type { build } from './small_models.js'

/** A plain tensor of a test. */
export function box(name: string, data: Float32Array | BigInt64Array) {
  const held = { value: { data, shape: [data.length] } }
  return {
    held,
    saveable: new TensorSaveable(
      name,
      () => held.value,
      (tensor) => {
        held.value = tensor as typeof held.value
      },
    ),
  }
}

export const saveableOf = ({ model, params }: ReturnType<typeof build>, name?: string) =>
  new RNNParamsSaveable(model.paramsToCanonical, model.canonicalToParams, [params], name)
