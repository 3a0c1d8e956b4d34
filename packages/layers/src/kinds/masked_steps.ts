import type { Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { Pass } from '../layer.js'

/** The places of a row's masked steps: `anywhere` moves the others together. */
export const PADDINGS = ['end', 'anywhere'] as const

export type Padding = (typeof PADDINGS)[number]

/**
 * The steps of [T,B,…] that are not masked, moved to the beginning of each row, with the lengths of the rows.
 *
 * @param isStep of the first element of a step
 * @throws RangeError `ERR_SEQUENCE_LENGTHS` for a row without steps, or with masked steps before others if `padding` is `end`
 */
export function withoutMasked<Data extends Int32Array | Float32Array | Float64Array>(
  layer: string,
  { data, shape }: Tensor<Data>,
  lengths: Pass['lengths'],
  padding: Padding,
  isStep: (element: number, columns: number) => boolean,
): { readonly steps: Tensor<Data>; readonly lengths: Int32Array } {
  const [time, batch] = shape as [number, number]
  const columns = data.length / (time * batch)
  const counts = new Int32Array(batch)
  const moved = data.slice() as Data
  for (let b = 0; b < batch; b++) {
    const end = lengths?.[b] ?? time
    for (let t = 0; t < end; t++) {
      const from = (t * batch + b) * columns
      if (!isStep(from, columns)) continue
      const step = counts[b]++
      if (step === t) continue
      if (padding === 'end') {
        throw refusal(layer, `the masked steps of a row must come last: row ${b} has one before step ${t}`)
      }
      moved.copyWithin((step * batch + b) * columns, from, from + columns)
    }
    if (counts[b] === 0) throw refusal(layer, `each row must have a step that is not masked: row ${b} has none`)
  }
  return { steps: { data: moved, shape }, lengths: counts }
}

function refusal(layer: string, rule: string) {
  return codedRangeError(
    'ERR_SEQUENCE_LENGTHS',
    `Cannot call ${layer} as ${rule}. Pass such rows without their padding`,
    { layer },
  )
}
