import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { codedRangeError, NUMBER, type OptionsOf, oneOf } from '@cudnn-rnn/canonical/rules'
import { DTYPES, type FloatDType } from '@cudnn-rnn/ops'
import type { LayerDefinition, Pass } from '../layer.js'
import { hostTensor, lengthsOperand } from '../forwarded.js'
import { checkLayerOptions, LAYER_OPTIONS, type LayerOptions, SEQUENCE } from '../layer_options.js'
import { planned } from '../planned_layer.js'

/** The places of masked steps in a row. With `anywhere`, the layer moves the other steps together. */
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

const OPTIONS = { ...LAYER_OPTIONS, maskValue: NUMBER, padding: oneOf(PADDINGS) }

export interface MaskingOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/** Keras' `Masking`: steps whose columns all are `maskValue` are none. The input of a model, so without a gradient. */
export function masking(options: MaskingOptions): LayerDefinition {
  const given = checkLayerOptions('masking', options, OPTIONS)
  const { maskValue, padding } = given
  const row = { kind: 'masking', base: 'masking', name: given.name, takes: SEQUENCE, config: { maskValue, padding } }
  const masked = Math.fround(maskValue)
  return planned(row, (input, name) => ({
    output: input,
    async forward(t, x, _, pass) {
      const sequence = (await hostTensor(x)) as Tensor<FloatArray>
      const isStep = (element: number, columns: number) =>
        sequence.data.subarray(element, element + columns).some((value) => value !== masked)
      const { steps, lengths } = withoutMasked(name, sequence, pass.lengths, padding, isStep)
      return { output: t.value(steps), lengths }
    },
  }))
}

/**
 * Past the length of a row, the row's last step: what Keras' recurrent layers give at masked steps. Columns that were computed
 * from the end of the sequence stay zero there.
 */
export function holdPadding(options: LayerOptions = {}): LayerDefinition {
  const given = checkLayerOptions('holdPadding', options, LAYER_OPTIONS)
  const row = { kind: 'holdPadding', base: 'hold_padding', name: given.name, takes: SEQUENCE, config: {} }
  return planned(row, (input) => ({
    output: input,
    forward(t, x, _, { lengths }) {
      if (lengths === null) return t.value(x)
      const last = t.poolSequence(x, lengthsOperand(lengths), { pooling: 'last', reversedFrom: input.reversedFrom })
      return t.select(paddingOf(t.backend.dtype, x.shape, lengths, input.reversedFrom), last, x)
    },
  }))
}

/** Every step of a row, those past its length among them: behind it there are no masked steps. */
export function everyStep(options: LayerOptions = {}): LayerDefinition {
  const given = checkLayerOptions('everyStep', options, LAYER_OPTIONS)
  const row = { kind: 'everyStep', base: 'every_step', name: given.name, takes: SEQUENCE, config: {} }
  return planned(row, (input) => ({
    output: input,
    outputLengths: (lengths) => lengths,
    forward: (t, x, _, { lengths }) => {
      const output = t.value(x)
      return { output, ...(lengths && { lengths: new Int32Array(lengths.length).fill(output.shape[0] as number) }) }
    },
  }))
}

/** 1 past the lengths of rows that have steps, in the columns before `held`; else 0. */
function paddingOf(dtype: FloatDType, shape: readonly number[], lengths: Int32Array, held = shape[2]) {
  const [time, batch, columns] = shape as readonly [number, number, number]
  const data = new DTYPES[dtype].array(time * batch * columns)
  for (let b = 0; b < batch; b++) {
    for (let t = lengths[b]; t < time && t > 0; t++)
      data.fill(1, (t * batch + b) * columns, (t * batch + b) * columns + held)
  }
  return { data, shape }
}
