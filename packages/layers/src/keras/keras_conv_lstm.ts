// Keras' convolutional LSTM over the rows of pictures: a convolution of each step, and a recurrence.
import { CONV_LSTM_ACTIVATIONS, convLstm, MOST } from '../kinds/conv_lstm.js'
import { conv2d } from '../kinds/convolution.js'
import { rearrange } from '../kinds/rearrange.js'
import { lastStep } from '../kinds/sequence_pooling.js'
import { windowCount } from '../kinds/windows.js'
import type { Layer } from '../layer.js'
import { heightOf, wholeKernel } from './keras_convolutions.js'
import { type KerasLayer, readVariables, reshaped } from './keras_layers.js'
import {
  axis,
  CHANNELS_LAST,
  choice,
  count,
  type Floats,
  filled,
  ignoring,
  type KerasClass,
  only,
} from './keras_row.js'

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
function passing(taps: number, columns: number): Floats {
  const shape = [taps, columns, columns]
  const data = filled(shape, 0)
  const center = Math.floor((taps - 1) / 2) * columns * columns
  for (let k = 0; k < columns; k++) data[center + k * (columns + 1)] = 1
  return { data, shape }
}

/** Kernels of two inputs side by side as one, tap by tap. */
function beside(a: Floats, b: Floats): Floats {
  const [taps, own, columns] = a.shape as readonly [number, number, number]
  const other = b.shape[1] as number
  const shape = [taps, own + other, columns]
  const data = filled(shape, 0)
  for (let tap = 0; tap < taps; tap++) {
    const begin = tap * (own + other) * columns
    data.set(a.data.subarray(tap * own * columns, (tap + 1) * own * columns), begin)
    data.set(b.data.subarray(tap * other * columns, (tap + 1) * other * columns), begin + own * columns)
  }
  return { data, shape }
}

export const CONV_LSTM: KerasClass = {
  pictures: true,
  part: 'cell',
  options: {
    filters: count('filters'),
    kernel_size: axis('kernelSize'),
    strides: axis('strides'),
    dilation_rate: axis('dilation'),
    padding: choice('padding', ['valid', 'same']),
    data_format: CHANNELS_LAST,
    activation: choice('activation', CONV_LSTM_ACTIVATIONS),
    recurrent_activation: choice('recurrentActivation', CONV_LSTM_ACTIVATIONS.toReversed()),
    ...{ return_state: only(false), go_backwards: only(false), stateful: only(false) },
    ...ignoring('return_sequences', 'use_bias', 'unit_forget_bias', 'dropout', 'recurrent_dropout', 'unroll'),
    ...ignoring('zero_output_for_mask'),
  },
  plan: (at, own) => {
    const { options, input, name } = at
    const { kernelSize, strides, dilation, filters } = own as Readonly<Record<string, number>>
    const { padding, activation, recurrentActivation } = own as Readonly<Record<string, never>>
    const height = heightOf(at)
    const [channels, gates] = [(input.features as number) / height, 4 * filters]
    const size = (kernelSize - 1) * dilation + 1
    const rows = windowCount(height, size, strides, padding)
    if (rows < 1 || rows > MOST.height || kernelSize > MOST.kernelSize)
      throw options.wrong('kernel_size', `at most ${MOST.kernelSize}, of 1 to ${MOST.height} rows`)
    const isSequence = options.flag('return_sequences', false)
    const hasBias = options.flag('use_bias', true)
    const functions = { activation, recurrentActivation }
    const last = [lastStep(), rearrange({ from: [rows * filters], to: [rows, filters] })]
    return {
      layers: [
        conv2d({ height, filters: gates, kernelSize: [1, size], strides: [1, strides], padding }),
        convLstm({ height: rows, filters, kernelSize, ...functions, ...name }),
        ...(isSequence ? [] : last),
      ],
      height: isSequence ? rows : undefined,
      stored: [
        ['kernel', [kernelSize, channels, gates]],
        ['recurrent_kernel', [kernelSize, filters, gates]],
        ...(hasBias ? ([['bias', [gates]]] as const) : []),
      ],
      values: ([kernel, recurrent, bias = { data: filled([gates], 0), shape: [gates] }]) => {
        const sizes = { size: [1, kernelSize], dilation: [1, dilation], channels, filters: gates, groups: 1 }
        const whole = wholeKernel(kernel, sizes)
        return [reordered(whole), reordered(bias), beside(passing(kernelSize, gates), reordered(recurrent))]
      },
    }
  },
}

/** The recurrence as a layer of Keras that passes its input to the gates. */
export async function convLstmToKeras(layer: Layer): Promise<readonly KerasLayer[]> {
  const { height, filters, kernelSize, activation, recurrentActivation } = layer.definition.config
  const [rows, units, taps] = [height, filters, kernelSize] as number[]
  const gates = 4 * units
  const [{ data }] = await readVariables(layer)
  const part = (begin: number, count: number): Floats => {
    const own = filled([taps, count, gates], 0)
    for (let tap = 0; tap < taps; tap++) {
      const from = (tap * 5 * units + begin) * gates
      own.set(data.subarray(from, from + count * gates), tap * count * gates)
    }
    return reordered({ data: own, shape: [taps, count, gates] })
  }
  const own = { filters: units, kernel_size: [taps], padding: 'same', use_bias: false, return_sequences: true }
  return [
    reshaped([-1, rows, gates]),
    {
      className: 'ConvLSTM1D',
      config: { ...own, activation, recurrent_activation: recurrentActivation },
      variables: { 'cell/vars/0': part(0, gates), 'cell/vars/1': part(gates, units) },
    },
    reshaped([-1, rows * units]),
  ]
}
