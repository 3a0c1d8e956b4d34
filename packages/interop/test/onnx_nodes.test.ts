import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { elementCount } from '@cudnn-rnn/canonical'
import { littleEndianBytes } from '@cudnn-rnn/checkpoint/files'
import { describe, expect, it } from 'vitest'
import { field, joined, modelBytes, nodeMessage, numberField, textField } from '../fuzz/onnx_bytes.js'
import { importWeights } from '../src/index.js'

type Operator = 'LSTM' | 'GRU' | 'RNN'

const GATES = { LSTM: 4, GRU: 3, RNN: 1 } as const
const [H, I, B] = [2, 3, 2]

/** AttributeProto: an integer, a float, a text or texts. */
function attribute(name: string, value: number | { readonly float: number } | string | readonly string[]): Uint8Array {
  const content =
    typeof value === 'number'
      ? [numberField(3, value)]
      : typeof value === 'string'
        ? [textField(4, value)]
        : 'float' in value
          ? [new BinaryWriter().tag(2, WireType.Bit32).float(value.float).finish()]
          : value.map((text) => textField(9, text))
  return field(5, joined([textField(1, name), ...content]))
}

/** TensorProto of numbers that differ; int64 if `integers` are given. */
function tensor(name: string, shape: readonly number[], integers?: readonly number[]): Uint8Array {
  const size = elementCount(shape)
  const raw =
    integers === undefined
      ? Float32Array.from({ length: size }, (_, k) => Math.sin(k + 1))
      : BigInt64Array.from(integers, BigInt)
  const fields = [...shape.map((each) => numberField(1, each)), numberField(2, integers === undefined ? 1 : 7)]
  return joined([...fields, textField(8, name), field(9, littleEndianBytes(raw))])
}

interface Node {
  readonly operator?: Operator
  /** Shapes of inputs in the place of the right ones; `sequence_lens` has these lengths. */
  readonly inputs?: Readonly<Record<string, readonly number[]>>
  readonly attributes?: Parameters<typeof attribute>[1] extends infer Value ? Readonly<Record<string, Value>> : never
}

const PLACES = ['X', 'W', 'R', 'B', 'sequence_lens', 'initial_h', 'initial_c', 'P']

/** A model of one node whose inputs but X are initializers. */
function model({ operator = 'LSTM', inputs = {}, attributes = {} }: Node): Uint8Array {
  const rows = GATES[operator] * H
  const directions = attributes['direction'] === 'bidirectional' ? 2 : 1
  const shapes: Readonly<Record<string, readonly number[]>> = {
    ...{ W: [directions, rows, I], R: [directions, rows, H], B: [directions, 2 * rows] },
    ...inputs,
  }
  const initializers = Object.entries(shapes).map(([name, shape]) =>
    name === 'sequence_lens' ? tensor(name, [shape.length], shape) : tensor(name, shape),
  )
  const named = PLACES.map((place) => (place === 'X' || place in shapes ? place : ''))
  const own = Object.entries(attributes).map(([name, value]) => attribute(name, value))
  return modelBytes([joined([nodeMessage(operator, named, 'Y'), ...own])], initializers)
}

const imported = async (node: Node) => importWeights(model(node))

describe('importWeights of an ONNX node', () => {
  it('reads constant states, lengths and both directions', async () => {
    const inputs = { initial_h: [2, B, H], initial_c: [2, B, H], sequence_lens: [4, 1] }
    const { networks } = await imported({ inputs, attributes: { direction: 'bidirectional' } })
    expect(networks).toHaveLength(1)
    expect(networks[0]).toMatchObject({
      descriptor: { cellMode: 'lstm', numUnits: H, inputSize: I, direction: 'bidirectional' },
      reverse: false,
      inputs: { initialH: { shape: [2, B, H] }, initialC: { shape: [2, B, H] }, sequenceLengths: [4, 1] },
    })
  })

  it('exchanges the axes of batch-major states', async () => {
    const inputs = { initial_h: [3, 2, H], W: [2, 2, I], R: [2, 2, H], B: [2, 4] }
    const { networks } = await imported({
      operator: 'RNN',
      inputs,
      attributes: { layout: 1, direction: 'bidirectional' },
    })
    const { data, shape } = networks[0]!.inputs.initialH!
    expect(shape).toEqual([2, 3, H])
    const stored = (b: number, d: number, h: number) => Math.fround(Math.sin((b * 2 + d) * H + h + 1))
    expect([...data]).toEqual([0, 1].flatMap((d) => [0, 1, 2].flatMap((b) => [stored(b, d, 0), stored(b, d, 1)])))
  })

  it('becomes a cell for each direction, with its own peepholes and states', async () => {
    const inputs = { P: [2, 3 * H], initial_h: [2, B, H] }
    const { networks, cells } = await imported({ inputs, attributes: { direction: 'bidirectional' } })
    expect(networks).toEqual([])
    expect(cells.map(({ name, reverse }) => [name, reverse])).toEqual([
      ['Y/forward', false],
      ['Y/backward', true],
    ])
    const peepholes = (k: number) => Object.entries(cells[k]!.variables).filter(([name]) => name.endsWith('_diag'))
    const stored = (first: number) => [1, 2].map((k) => Math.fround(Math.sin(first + k)))
    // ONNX's order is input, output, forget.
    expect(Object.fromEntries(peepholes(1).map(([name, { data }]) => [name, [...data]]))).toEqual({
      w_i_diag: stored(6),
      w_o_diag: stored(8),
      w_f_diag: stored(10),
    })
    expect(cells[1]!.inputs.initialH).toMatchObject({
      shape: [1, B, H],
      data: Float32Array.from([5, 6, 7, 8], Math.sin),
    })
  })

  it.each<[string, Node]>([
    ['an initial state of other units', { inputs: { initial_h: [1, B, H + 1] } }],
    ['an initial state of other directions', { inputs: { initial_h: [2, B, H] } }],
    ['an initial state of two axes', { inputs: { initial_h: [B, H] } }],
    ['a batch-major state of two axes', { inputs: { initial_h: [B, H] }, attributes: { layout: 1 } }],
    ['a batch-major state in the order of others', { inputs: { initial_h: [1, 3, H] }, attributes: { layout: 1 } }],
    ['an initial cell state of other units', { inputs: { initial_c: [1, B, H + 1] } }],
    ['states of unequal rows', { inputs: { initial_h: [1, B, H], initial_c: [1, B + 1, H] } }],
    ['lengths of other rows than the state', { inputs: { initial_h: [1, B, H], sequence_lens: [1, 2, 3] } }],
    ['a negative length', { inputs: { sequence_lens: [2, -1] } }],
    ['peepholes of other units', { inputs: { P: [1, 3 * H - 1] } }],
    ['peepholes of one direction for two', { inputs: { P: [1, 3 * H] }, attributes: { direction: 'bidirectional' } }],
    ['biases of other units', { inputs: { B: [1, 8 * H + 1] } }],
    ['recurrent weights of other directions', { inputs: { R: [2, 4 * H, H] } }],
    ['weights of other gates', { inputs: { W: [1, 3 * H, I] } }],
    ['weights of two axes', { inputs: { W: [4 * H, I] } }],
    ['no units', { inputs: { W: [1, 0, I], R: [1, 0, 0], B: [1, 0] } }],
    ['a direction that does not exist', { attributes: { direction: 'sideways' } }],
  ])('is refused with %s, by a code of weight files that names the node or tensor', async (_, node) => {
    const bytes = model(node)
    const before = bytes.slice()
    const refused = importWeights(bytes)
    await expect(refused).rejects.toMatchObject({ name: 'WeightFileError', code: 'ERR_WEIGHTS_CORRUPT' })
    expect(bytes).toEqual(before)
  })

  it('takes lengths from the option inputs, which has arrays of floating-point numbers', async () => {
    const rows = GATES.LSTM * H
    const [W, R] = [tensor('W', [1, rows, I]), tensor('R', [1, rows, H])]
    const bytes = modelBytes([nodeMessage('LSTM', ['X', 'W', 'R', '', 'lengths'], 'Y')], [W, R])
    const given = (...lengths: number[]) => ({
      inputs: { lengths: { data: Float32Array.from(lengths), shape: [lengths.length] } },
    })
    const { networks } = await importWeights(bytes, given(3, 1))
    expect(networks[0]!.inputs).toEqual({ sequenceLengths: [3, 1] })
    await expect(importWeights(bytes, given(1.5))).rejects.toMatchObject({ code: 'ERR_WEIGHTS_CORRUPT' })
  })

  it.each<[string, Node]>([
    ['input_forget', { attributes: { input_forget: 1 } }],
    ['a layout that does not exist', { attributes: { layout: 2 } }],
    ['clip 0', { attributes: { clip: { float: 0 } } }],
    ['an activation of no cell', { attributes: { activations: ['Sigmoid', 'Tanh', 'Swish'] } }],
    ['empty rows beside states', { inputs: { initial_h: [1, B, H], sequence_lens: [0, 2] } }],
  ])('is refused as another function with %s', async (_, node) => {
    await expect(imported(node)).rejects.toMatchObject({ code: 'ERR_WEIGHTS_OTHER_FUNCTION' })
  })

  it.each([-3, 0, 1, 2])(
    'reads linear_before_reset %d of a GRU as ONNX Runtime does: 0, or any other',
    async (flag) => {
      const { networks } = await imported({ operator: 'GRU', attributes: { linear_before_reset: flag } })
      expect(networks).toHaveLength(flag === 0 ? 0 : 1)
    },
  )

  it('bounds activations by clip in a cell', async () => {
    const { cells } = await imported({ attributes: { clip: { float: 0.5 } } })
    expect(cells[0]).toMatchObject({ cell: 'LSTMBlockCell', options: { preactivationClip: 0.5, forgetBias: 0 } })
  })

  it('gives each direction of an RNN its activation', async () => {
    const attributes = { direction: 'bidirectional', activations: ['Tanh', 'relu'] }
    const { cells } = await imported({ operator: 'RNN', attributes })
    expect(cells.map(({ cell, options }) => [cell, options.activation])).toEqual([
      ['BasicRNNCell', 'tanh'],
      ['BasicRNNCell', 'relu'],
    ])
  })
})
