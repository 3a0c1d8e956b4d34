// Keras' convolutional LSTM over rows or pictures: a convolution of each step, and a recurrence.
import { elementCount } from '@cudnn-rnn/canonical'
import { noExport } from '../export_error.js'
import { CONV_LSTM_ACTIVATIONS, convLstm, MOST } from '../kinds/conv_lstm.js'
import { conv2d } from '../kinds/convolution.js'
import { rearrange } from '../kinds/rearrange.js'
import { reverse } from '../kinds/reverse.js'
import { lastStep } from '../kinds/sequence_pooling.js'
import { timeDistributed } from '../kinds/time_distributed.js'
import { windowCount } from '../kinds/windows.js'
import type { Layer } from '../layer.js'
import { heightOf, wholeKernel } from './keras_convolutions.js'
import { type KerasLayer, readVariables, reshaped } from './keras_layers.js'
import {
  axis,
  CHANNELS_LAST,
  choice,
  count,
  extent,
  type Floats,
  filled,
  ignoring,
  type KerasClass,
  only,
} from './keras_row.js'
import { pictureOf } from './keras_shapes.js'

/** Columns of gates i, f, c, o as i, c, f, o, and back. */
function reordered({ data, shape }: Floats): Floats {
  const columns = shape.at(-1) as number
  const size = columns / 4
  const turned = data.map((_, k) => {
    const gate = Math.floor((k % columns) / size)
    return data[k + (gate === 1 ? size : gate === 2 ? -size : 0)]
  })
  return { data: turned, shape }
}

/** A kernel of one tap that passes its input. */
function passing(taps: readonly number[], columns: number): Floats {
  const shape = [...taps, columns, columns]
  const data = filled(shape, 0)
  const center = taps.reduce((place, count) => place * count + Math.floor((count - 1) / 2), 0) * columns * columns
  for (let k = 0; k < columns; k++) data[center + k * (columns + 1)] = 1
  return { data, shape }
}

/** Kernels of two inputs side by side as one, tap by tap. */
function beside(a: Floats, b: Floats): Floats {
  const sizes = a.shape.slice(0, -2)
  const taps = elementCount(sizes)
  const [own, columns] = a.shape.slice(-2) as [number, number]
  const other = b.shape.at(-2) as number
  const shape = [...sizes, own + other, columns]
  const data = filled(shape, 0)
  for (let tap = 0; tap < taps; tap++) {
    const begin = tap * (own + other) * columns
    data.set(a.data.subarray(tap * own * columns, (tap + 1) * own * columns), begin)
    data.set(b.data.subarray(tap * other * columns, (tap + 1) * other * columns), begin + own * columns)
  }
  return { data, shape }
}

/** Over rows of pictures, or over the pictures of a film. */
const convLstmOf = (rank: 1 | 2): KerasClass => {
  const size = (own: string) => (rank === 1 ? axis(own) : extent(own, 1))
  return {
    pictures: rank === 1 ? true : 'films',
    part: 'cell',
    options: {
      filters: count('filters'),
      kernel_size: size('kernelSize'),
      strides: size('strides'),
      dilation_rate: size('dilation'),
      padding: choice('padding', ['valid', 'same']),
      data_format: CHANNELS_LAST,
      activation: choice('activation', CONV_LSTM_ACTIVATIONS),
      recurrent_activation: choice('recurrentActivation', [...CONV_LSTM_ACTIVATIONS.toReversed(), 'hard_sigmoid']),
      ...{ return_state: only(false), stateful: only(false) },
      ...ignoring('return_sequences', 'use_bias', 'unit_forget_bias', 'dropout', 'recurrent_dropout', 'unroll'),
      ...ignoring('zero_output_for_mask', 'go_backwards'),
    },
    plan: (at, own) => {
      const { options, input, name } = at
      const { each } = input
      const given = rank === 1 ? [heightOf(at)] : [each?.time, each?.height]
      if (!given.every((each) => each !== undefined))
        throw options.refused('its input must be films [time,height,width,channels]')
      const { filters } = own as Readonly<Record<string, number>>
      const { padding, activation, recurrentActivation } = own as Readonly<Record<string, never>>
      const [kernelSize, strides, dilation] = ['kernelSize', 'strides', 'dilation'].map(
        (option) => [own[option]].flat() as number[],
      )
      const [channels, gates] = [(input.features as number) / elementCount(given), 4 * filters]
      const sizes = kernelSize.map((taps, k) => (taps - 1) * dilation[k] + 1)
      const form = given.map((count, k) => windowCount(count, sizes[k], strides[k], padding))
      if (!form.every((rows) => rows >= 1 && rows <= MOST.form) || !kernelSize.every((taps) => taps <= MOST.kernelSize))
        throw options.wrong('kernel_size', `at most ${MOST.kernelSize}, of 1 to ${MOST.form} rows`)
      const isSequence = options.flag('return_sequences', false)
      const hasBias = options.flag('use_bias', true)
      const { major = 3 } = options
      const slope = recurrentActivation === 'hard_sigmoid' ? { slope: major < 3 ? 0.2 : 1 / 6 } : {}
      const functions = { activation, recurrentActivation, ...slope }
      const pairOf = (values: readonly number[]): [number, number] => [
        values.length === 1 ? 1 : values[0],
        values.at(-1) as number,
      ]
      const windows = { filters: gates, kernelSize: pairOf(sizes), strides: pairOf(strides), padding }
      const convolution = conv2d({ height: given.at(-1) as number, ...windows })
      const [rows, ...columns] = form
      const width = elementCount(columns) * filters
      const last = [lastStep(), rearrange({ from: [rows * width], to: [rows, width] })]
      const step = pictureOf([...form, filters])
      return {
        layers: [
          ...(options.flag('go_backwards', false) ? [reverse()] : []),
          rank === 1 ? convolution : timeDistributed([convolution], { steps: given[0] as number }),
          convLstm({ form, filters, kernelSize, ...functions, ...name }),
          ...(isSequence ? [] : last),
        ],
        ...(isSequence ? step : { height: columns[0] }),
        stored: [
          ['kernel', [...kernelSize, channels, gates]],
          ['recurrent_kernel', [...kernelSize, filters, gates]],
          ...(hasBias ? ([['bias', [gates]]] as const) : []),
        ],
        values: ([kernel, recurrent, bias = { data: filled([gates], 0), shape: [gates] }]) => {
          const whole = wholeKernel(kernel, {
            size: pairOf(kernelSize),
            dilation: pairOf(dilation),
            channels,
            filters: gates,
            groups: 1,
          })
          return [reordered(whole), reordered(bias), beside(passing(kernelSize, gates), reordered(recurrent))]
        },
      }
    },
  }
}

export const CONV_LSTMS = { ConvLSTM1D: convLstmOf(1), ConvLSTM2D: convLstmOf(2) }

/** The recurrence as a layer of Keras that passes its input to the gates. */
export async function convLstmToKeras(layer: Layer): Promise<readonly KerasLayer[]> {
  const { form, filters, kernelSize, slope, ...functions } = layer.definition.config
  const [sizes, taps, units] = [form as number[], kernelSize as number[], filters as number]
  const { activation, recurrentActivation } = functions
  if (recurrentActivation === 'hard_sigmoid' && slope !== 1 / 6) throw noExport('Keras', layer)
  const gates = 4 * units
  const [{ data }] = await readVariables(layer)
  const part = (begin: number, count: number): Floats => {
    const own = filled([...taps, count, gates], 0)
    for (let tap = 0; tap < elementCount(taps); tap++) {
      const from = (tap * 5 * units + begin) * gates
      own.set(data.subarray(from, from + count * gates), tap * count * gates)
    }
    return reordered({ data: own, shape: [...taps, count, gates] })
  }
  const own = { filters: units, kernel_size: taps, padding: 'same', use_bias: false, return_sequences: true }
  return [
    reshaped([-1, ...sizes, gates]),
    {
      className: `ConvLSTM${sizes.length}D`,
      config: { ...own, activation, recurrent_activation: recurrentActivation },
      variables: { 'cell/vars/0': part(0, gates), 'cell/vars/1': part(gates, units) },
    },
    reshaped([-1, elementCount(sizes) * units]),
  ]
}
