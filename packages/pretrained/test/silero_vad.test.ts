import { elementCount } from '@cudnn-rnn/canonical/rules'
import { openBackend } from '@cudnn-rnn/rnn'
import { describe, expect, it } from 'vitest'
import { SileroVad } from '../src/silero_vad.js'
import { BINS, CONTEXT, FRAME, readSileroWeights, UNITS, WINDOW } from '../src/silero_weights.js'

type Shapes = Record<string, readonly number[]>

/** The names and shapes of the tensors of Silero VAD. */
const SHAPES: Shapes = {
  'model.stft.forward_basis_buffer': [2 * BINS, 1, WINDOW],
  ...Object.fromEntries(
    [
      [BINS, UNITS],
      [UNITS, 64],
      [64, 64],
      [64, UNITS],
    ].flatMap(([inputs, outputs], index) => [
      [`model.encoder.${index}.reparam_conv.weight`, [outputs, inputs, 3]],
      [`model.encoder.${index}.reparam_conv.bias`, [outputs]],
    ]),
  ),
  'model.decoder.rnn.weight_ih': [4 * UNITS, UNITS],
  'model.decoder.rnn.weight_hh': [4 * UNITS, UNITS],
  'model.decoder.rnn.bias_ih': [4 * UNITS],
  'model.decoder.rnn.bias_hh': [4 * UNITS],
  'model.decoder.decoder.2.weight': [1, UNITS, 1],
  'model.decoder.decoder.2.bias': [1],
}

/** A safetensors file: the length of its header, the header, the tensors. All are zero but those that `fill` writes. */
function fileOf(fill: Record<string, (values: Float32Array) => void>, shapes = SHAPES): Uint8Array {
  let end = 0
  const places = Object.entries(shapes).map(([name, shape]) => {
    const begin = end
    end += 4 * elementCount(shape)
    return [name, { dtype: 'F32', shape, data_offsets: [begin, end] }] as const
  })
  const json = new TextEncoder().encode(JSON.stringify(Object.fromEntries(places)))
  const header = 8 * Math.ceil(json.length / 8)
  const bytes = new Uint8Array(8 + header + end).fill(0x20, 8, 8 + header)
  new DataView(bytes.buffer).setBigUint64(0, BigInt(header), true)
  bytes.set(json, 8)
  for (const [name, { data_offsets }] of places) {
    const [from, to] = data_offsets as [number, number]
    const values = new Float32Array((to - from) / 4)
    fill[name]?.(values)
    bytes.set(new Uint8Array(values.buffer), 8 + header + from)
  }
  return bytes
}

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

describe('SileroVad', () => {
  it('carries the state of its LSTM from frame to frame, and applies the sigmoid to its output', async () => {
    using backend = await openBackend('reference')
    const vad = await SileroVad.open(
      backend,
      fileOf({
        // Gates i, f, g, o of PyTorch: g = tanh(1), the others 1/2.
        'model.decoder.rnn.bias_ih': (values) => values.fill(1, 2 * UNITS, 3 * UNITS),
        'model.decoder.decoder.2.weight': (values) => values.fill(4 / UNITS),
        'model.decoder.decoder.2.bias': (values) => values.fill(-0.5),
      }),
    )
    let c = 0
    for (let frame = 0; frame < 3; frame++) {
      c = 0.5 * c + 0.5 * Math.tanh(1)
      expect(await vad.process(new Float32Array(FRAME).fill(frame))).toBeCloseTo(
        sigmoid(4 * 0.5 * Math.tanh(c) - 0.5),
        6,
      )
    }
    vad.dispose()
    expect(backend.stats().tensors).toBe(0)
  })

  it('feeds the encoder into the LSTM, relu after every convolution', async () => {
    using backend = await openBackend('reference')
    const probability = async (bias: number) => {
      const vad = await SileroVad.open(
        backend,
        fileOf({
          'model.encoder.3.reparam_conv.bias': (values) => values.fill(bias),
          // g of unit k sees feature k alone.
          'model.decoder.rnn.weight_ih': (values) => {
            for (let k = 0; k < UNITS; k++) values[(2 * UNITS + k) * UNITS + k] = 1
          },
          'model.decoder.decoder.2.weight': (values) => values.fill(10 / UNITS),
        }),
      )
      const result = await vad.process(new Float32Array(FRAME))
      vad.dispose()
      return result
    }
    expect(await probability(2)).toBeCloseTo(sigmoid(10 * 0.5 * Math.tanh(0.5 * Math.tanh(2))), 6)
    // A negative feature is 0.
    expect(await probability(-2)).toBeCloseTo(0.5, 6)
  })

  it('sees the last samples of the frame before', async () => {
    using backend = await openBackend('reference')
    // The only frequency is the sum of the first window, whose first CONTEXT samples are of the frame before.
    const vad = await SileroVad.open(
      backend,
      fileOf({
        'model.stft.forward_basis_buffer': (values) => values.fill(1 / CONTEXT, 0, CONTEXT),
        'model.encoder.0.reparam_conv.weight': (values) => {
          // The middle tap of output 0 from frequency 0.
          values[1] = 1
        },
        ...Object.fromEntries(
          [1, 2, 3].map((index) => [
            `model.encoder.${index}.reparam_conv.weight`,
            (values: Float32Array) => {
              values[1] = 1
            },
          ]),
        ),
        'model.decoder.rnn.weight_ih': (values) => {
          values[2 * UNITS * UNITS] = 1
        },
        'model.decoder.decoder.2.weight': (values) => {
          values[0] = 1
        },
      }),
    )
    // Strides of 2 keep step 0, whose window begins with the context: zeros at first.
    const samples = new Float32Array(FRAME).fill(9)
    samples.fill(-3, FRAME - CONTEXT)
    expect(await vad.process(samples)).toBeCloseTo(0.5, 6)
    // The magnitude of the context's mean is 3.
    expect(await vad.process(new Float32Array(FRAME))).toBeCloseTo(sigmoid(0.5 * Math.tanh(0.5 * Math.tanh(3))), 5)
    // And then the zeros: the state decays.
    const c = 0.25 * Math.tanh(3)
    expect(await vad.process(new Float32Array(FRAME))).toBeCloseTo(sigmoid(0.5 * Math.tanh(c)), 5)
    vad.dispose()
  })
})

describe('readSileroWeights', () => {
  it('has the layers in their order, with their sizes and strides', async () => {
    const weights = await readSileroWeights(fileOf({ 'model.encoder.2.reparam_conv.bias': (values) => values.fill(7) }))
    expect(weights.transform).toMatchObject({ inputs: 1, width: WINDOW, stride: 128, padding: 0 })
    expect(weights.encoder.map(({ inputs, stride, bias }) => [inputs, bias.length, stride])).toEqual([
      [BINS, UNITS, 1],
      [UNITS, 64, 2],
      [64, 64, 2],
      [64, UNITS, 1],
    ])
    expect(weights.encoder[2].bias.every((value) => value === 7)).toBe(true)
    expect(weights.lstm.descriptor).toMatchObject({ cellMode: 'lstm', inputSize: UNITS, numUnits: UNITS, numLayers: 1 })
    expect([weights.output.kernel.length, weights.output.bias.length]).toEqual([UNITS, 1])
  })

  const without = (...names: string[]): Shapes =>
    Object.fromEntries(Object.entries(SHAPES).filter(([name]) => !names.includes(name)))
  it.each<[string, Shapes]>([
    ['no transform', without('model.stft.forward_basis_buffer')],
    ['a transform of 8 kHz', { ...SHAPES, 'model.stft.forward_basis_buffer': [130, 1, 128] }],
    ['an encoder of other channels', { ...SHAPES, 'model.encoder.1.reparam_conv.weight': [32, UNITS, 3] }],
    ['no output', without('model.decoder.decoder.2.bias')],
    [
      'an LSTM of other units',
      {
        ...SHAPES,
        'model.decoder.rnn.weight_ih': [4 * 64, UNITS],
        'model.decoder.rnn.weight_hh': [4 * 64, 64],
        'model.decoder.rnn.bias_ih': [4 * 64],
        'model.decoder.rnn.bias_hh': [4 * 64],
      },
    ],
    [
      'no LSTM',
      without(...['weight_ih', 'weight_hh', 'bias_ih', 'bias_hh'].map((name) => `model.decoder.rnn.${name}`)),
    ],
  ])('refuses a file with %s', async (_, shapes) => {
    using backend = await openBackend('reference')
    await expect(SileroVad.open(backend, fileOf({}, shapes))).rejects.toMatchObject({ code: 'ERR_OTHER_MODEL' })
    expect(backend.stats().tensors).toBe(0)
  })
})
