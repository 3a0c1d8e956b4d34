import type { Backend } from '@cudnn-rnn/ops'
import {
  apply,
  attention,
  cudnnGRU,
  type cudnnLSTM,
  dense,
  functional,
  input,
  lastStep,
  merge,
  multiHeadAttention,
} from '../src/index.js'
import { dotProduct } from '../src/kinds/dot_product.js'

export const dtype = 'float64' as const
export const numbers = (shape: readonly number[], seed = 1) => ({
  data: Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => Math.sin(seed + 1.7 * k)),
  shape,
})

/** An encoder whose last states begin a decoder. */
export function translator(make: () => ReturnType<typeof cudnnLSTM>, backend: Backend) {
  const [past, future] = [input('past', { features: 3 }), input('future', { features: 2 })]
  const encoded = apply(make(), past)
  const decoded = apply(make(), future, { states: encoded.states })
  const outputs = { load: apply(dense({ units: 2 }), decoded), kind: apply(dense({ units: 4 }), encoded.states[0]!) }
  return functional(backend, [past, future], outputs, { seed: 3 })
}

/** A model whose second sequence reads the first one in several ways. */
export function reader(backend: Backend) {
  const [past, future] = [input('past', { features: 3 }), input('future', { features: 2 })]
  const [values, query] = [apply(cudnnGRU({ numUnits: 4 }), past), apply(cudnnGRU({ numUnits: 4 }), future)]
  const own = apply(dense({ units: 3 }), values)
  const reads = [
    ...[attention({ isScaled: true }), attention({ score: 'additive' })].map((layer) => {
      return apply(layer, query, { others: [own, values] })
    }),
    apply(attention({ score: 'additive', isScaled: true }), query, { others: [values] }),
    apply(multiHeadAttention({ heads: 2, keySize: 3, units: 2 }), query, { others: [own, past] }),
  ]
  // Each step of the future with all of the past, of which there are 4 steps.
  const products = apply(dotProduct({ over: ['columns', 'columns'], steps: 4 }), query, { others: [values] })
  const seen = apply(dotProduct({ over: ['columns', 'steps'] }), products, { others: [own] })
  const load = apply(dense({ units: 2 }), merge('concat', [...reads, seen]))
  const ends = apply(lastStep(), query)
  const scores = apply(dotProduct({ over: ['columns', 'columns'], steps: 4 }), ends, { others: [values] })
  const kind = apply(dense({ units: 4 }), apply(dotProduct({ over: ['columns', 'steps'] }), scores, { others: [past] }))
  return functional(backend, [past, future], { load, kind }, { seed: 3 })
}

export const batch = {
  input: { past: numbers([4, 2, 3]), future: numbers([3, 2, 2], 5) },
  labels: { load: numbers([3, 2, 2], 9), kind: { data: Int32Array.of(3, 1), shape: [2] } },
}

export const loss = { load: 'mean_squared_error', kind: 'softmax_cross_entropy' } as const
