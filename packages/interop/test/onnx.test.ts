import { describe, expect, it } from 'vitest'
import { exportWeights, importWeights, stackNetworks } from '../src/index.js'
import { compute, expectClose, fixtureBytes, fixtureJson, type Numbers } from './fixture.js'
import { runCell } from './run_cell.js'

interface StoredCase {
  readonly input: Numbers
  readonly output: Numbers
  readonly y_h: Numbers
  readonly y_c?: Numbers
}

// Made by fixtures/interop/make_onnx.py.
const { cases } = fixtureJson<{ readonly cases: Readonly<Record<string, StoredCase>> }>('onnx/expected.json')

const NETWORKS = [
  'lstm',
  'lstm_bidirectional_states_lengths',
  'gru',
  'gru_bidirectional_no_bias',
  'rnn_tanh',
  'rnn_relu',
]

describe.each(NETWORKS)('importWeights of the ONNX node %s', (name) => {
  it('gives a network that agrees with ONNX Runtime', async () => {
    const { networks, unusedTensors } = await importWeights(fixtureBytes(`onnx/${name}.onnx`))
    const { initialH, initialC, sequenceLengths } = networks[0]!.inputs
    const stored = cases[name]!
    const result = await compute(networks[0]!, stored.input, {
      ...(initialH && { h: initialH }),
      ...(initialC && { c: initialC }),
      ...(sequenceLengths && { sequenceLengths }),
    })
    expect(unusedTensors).toEqual([])
    expectClose(result.output, stored.output)
    expectClose(result.h, stored.y_h)
    if (stored.y_c !== undefined) expectClose(result.c!, stored.y_c)
  })
})

it('importWeights keeps that a node reads backwards', async () => {
  const { networks } = await importWeights(fixtureBytes('onnx/lstm_reverse.onnx'))
  expect(networks[0]!.reverse).toBe(true)
  const { input, output } = cases['lstm_reverse']!
  const [T, ...rest] = input.shape as [number, number, number]
  const step = (length: number, data: readonly number[]) => {
    return Array.from({ length: T }, (_, t) => data.slice((T - 1 - t) * length, (T - t) * length)).flat()
  }
  const backward = { shape: input.shape, data: step(rest[0] * rest[1], input.data) }
  const expected = { shape: output.shape, data: step(output.shape[1]! * output.shape[2]!, output.data) }
  expectClose((await compute(networks[0]!, backward)).output, expected)
})

it('importWeights gives a node with peepholes to LSTMBlockCell', async () => {
  const { cells, networks } = await importWeights(fixtureBytes('onnx/lstm_peepholes.onnx'))
  expect(networks).toEqual([])
  const { input, output, y_h, y_c } = cases['lstm_peepholes']!
  const result = runCell(cells[0]!, input)
  expectClose(result.output, output)
  expectClose(result.h, { ...y_h, shape: y_h.shape.slice(1) })
  expectClose(result.c!, { ...y_c!, shape: y_c!.shape.slice(1) })
})

it('importWeights gives a GRU that resets before the product to GRUBlockCell', async () => {
  const { cells } = await importWeights(fixtureBytes('onnx/gru_reset_before.onnx'))
  const { input, output } = cases['gru_reset_before']!
  expectClose(runCell(cells[0]!, input).output, output)
})

it('importWeights gives both directions of such a GRU to a cell each', async () => {
  const { cells } = await importWeights(fixtureBytes('onnx/gru_reset_before_bidirectional.onnx'))
  expect(cells.map(({ name, reverse }) => [name, reverse])).toEqual([
    ['the_gru/forward', false],
    ['the_gru/backward', true],
  ])
  const { input, output } = cases['gru_reset_before_bidirectional']!
  const H = 4
  const half = Array.from({ length: output.data.length / (2 * H) }, (_, row) => {
    return output.data.slice(2 * H * row, 2 * H * row + H)
  })
  expectClose(runCell(cells[0]!, input).output, { shape: [5, 2, H], data: half.flat() })
})

it.each([
  ['lstm_clip', 'LSTMBlockCell'],
  ['lstm_clip_peepholes', 'LSTMBlockCell'],
  ['gru_clip', 'CudnnCompatibleGRUCell'],
  ['gru_reset_before_clip', 'GRUBlockCell'],
  ['rnn_tanh_clip', 'BasicRNNCell'],
  ['rnn_relu_clip', 'BasicRNNCell'],
])('importWeights gives %s to %s with a preactivationClip', async (name, cell) => {
  const { cells, networks } = await importWeights(fixtureBytes(`onnx/${name}.onnx`))
  expect(networks).toEqual([])
  expect(cells).toMatchObject([{ cell, options: { preactivationClip: 0.5 } }])
  const { input, output, y_h, y_c } = cases[name]!
  const result = runCell(cells[0]!, input)
  expectClose(result.output, output)
  expectClose(result.h, { ...y_h, shape: y_h.shape.slice(1) })
  if (y_c !== undefined) expectClose(result.c!, { ...y_c, shape: y_c.shape.slice(1) })
})

it('importWeights refuses input_forget, which no model computes', async () => {
  await expect(importWeights(fixtureBytes('onnx/lstm_input_forget.onnx'))).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_OTHER_FUNCTION',
    message: expect.stringMatching('input_forget'),
  })
})

// Made by fixtures/interop/run_onnxruntime.py from the files of write_exports.mjs.
const EXPORTED = fixtureJson<{
  readonly cases: Readonly<Record<string, Readonly<Record<string, Numbers>>>>
}>('exported/expected.json').cases
const TORCH = fixtureJson<{ readonly cases: Readonly<Record<string, { readonly input: Numbers }>> }>(
  'pytorch/expected.json',
).cases

describe.each(Object.entries(EXPORTED))('exportWeights of torch.nn %s as ONNX', (name, expected) => {
  const cellMode = name === 'rnn_relu' ? ('rnn_relu' as const) : ('rnn_tanh' as const)
  const load = async () => (await importWeights(fixtureBytes(`pytorch/${name}.safetensors`), { cellMode })).networks[0]!

  it('writes the very model that ONNX Runtime ran', async () => {
    const bytes = await exportWeights([await load()], { format: 'onnx' })
    expect(Buffer.from(bytes).equals(fixtureBytes(`exported/${name}.onnx`))).toBe(true)
  })

  it('agrees with ONNX Runtime', async () => {
    const { output, h, c } = await compute(await load(), TORCH[name]!.input)
    expectClose(output, expected['output']!)
    expectClose(h, expected['final_h']!)
    if (c !== undefined) expectClose(c, expected['final_c']!)
  })

  it('is restored bit for bit', async () => {
    const network = await load()
    const again = await importWeights(await exportWeights([network], { format: 'onnx' }), { cellMode })
    expect(stackNetworks(again.networks).canonical).toEqual(network.canonical)
  })
})

it('exportWeights refuses a projection, which ONNX does not have', async () => {
  const { networks } = await importWeights(fixtureBytes('pytorch/lstm_projection.safetensors'))
  await expect(exportWeights(networks, { format: 'onnx' })).rejects.toMatchObject({
    code: 'ERR_UNSUPPORTED_BY_FRAMEWORK',
  })
})
