import {
  createRnnDescriptor,
  elementCount,
  type FloatArray,
  flatLayout,
  layoutKey,
  type RnnOptions,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { Philox } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openReferenceBackend } from '../src/index.js'

const [T, B, I, H] = [3, 2, 2, 3] as const

/** Standard normal values, scaled. */
function drawn(random: Philox, scale: number, ...shape: number[]): Tensor<Float64Array> {
  const length = elementCount(shape)
  return { data: Float64Array.from({ length }, () => scale * random.normal()), shape }
}

const NETWORKS: readonly [string, Partial<RnnOptions>][] = [
  ['lstm', { cellMode: 'lstm' }],
  ['lstm of two layers in both directions', { cellMode: 'lstm', numLayers: 2, direction: 'bidirectional' }],
  ['lstm with a projection', { cellMode: 'lstm', numProj: 2, numLayers: 2 }],
  ['lstm with a clip that holds some cells', { cellMode: 'lstm', cellClip: 0.2 }],
  ['gru of two layers', { cellMode: 'gru', numLayers: 2 }],
  ['gru with one bias, in both directions', { cellMode: 'gru', biasMode: 'single_input', direction: 'bidirectional' }],
  ['rnn_tanh without biases', { cellMode: 'rnn_tanh', biasMode: 'none' }],
  ['rnn_tanh that skips its input', { cellMode: 'rnn_tanh', inputMode: 'skip_input', inputSize: H }],
]

function open(options: Partial<RnnOptions>) {
  const backend = openReferenceBackend({ dtype: 'float64' })
  const descriptor = createRnnDescriptor({ numLayers: 1, numUnits: H, inputSize: I, ...options } as RnnOptions)
  const rnn = backend.rnn(descriptor)
  const random = new Philox(20261121)
  const directions = descriptor.direction === 'bidirectional' ? 2 : 1
  const states = descriptor.numLayers * directions
  const given = {
    input: drawn(random, 1, T, B, descriptor.inputSize),
    inputH: drawn(random, 0.5, states, B, descriptor.numProj ?? H),
    inputC: descriptor.cellMode === 'lstm' ? drawn(random, 0.5, states, B, H) : null,
    params: drawn(random, 0.5, rnn.paramsSize),
  }
  return { backend, descriptor, rnn, random, given }
}

const dot = (a: FloatArray, b: FloatArray) => Array.from(a, (value, k) => value * b[k]).reduce((x, y) => x + y, 0)

describe('ReferenceRnn', () => {
  describe.each(NETWORKS)('%s', (_, options) => {
    it.each([null, [3, 1]])('has the gradients of its differences, lengths %o', async (sequenceLengths) => {
      const { rnn, random, given } = open(options)
      const run = (training: boolean) => rnn.forward({ ...given, sequenceLengths, training })
      const { output, outputH, outputC, tape } = await run(true)
      const weights = {
        output: drawn(random, 1, ...output.shape),
        outputH: drawn(random, 1, ...outputH.shape),
        ...(outputC && { outputC: drawn(random, 1, ...outputC.shape) }),
      }
      const loss = async () => {
        const results = await run(false)
        const pairs = [[results.output, weights.output] as const, [results.outputH, weights.outputH] as const]
        if (results.outputC && weights.outputC) pairs.push([results.outputC, weights.outputC])
        let sum = 0
        for (const [tensor, weight] of pairs) sum += dot((await tensor.read()).data as Float64Array, weight.data)
        return sum
      }
      const gradients = await rnn.backward(tape!, weights)
      const delta = 1e-5
      for (const [name, tensor] of Object.entries(given)) {
        if (tensor === null) continue
        const gradient = (await gradients[name as keyof typeof gradients]!.read()).data
        // Every eleventh parameter, every second element of other tensors.
        for (let k = 0; k < tensor.data.length; k += name === 'params' ? 11 : 2) {
          const value = tensor.data[k]
          tensor.data[k] = value + delta
          const above = await loss()
          tensor.data[k] = value - delta
          const below = await loss()
          tensor.data[k] = value
          expect(gradient[k], `${name}[${k}]`).toBeCloseTo((above - below) / (2 * delta), 7)
        }
      }
    })
  })

  it('computes one unit by hand', async () => {
    const backend = openReferenceBackend({ dtype: 'float64' })
    const size = { numLayers: 1, numUnits: 1, inputSize: 1, inputMode: 'linear_input' } as const
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'rnn_tanh', ...size }))
    // W, R, b_W, b_R
    const params = { data: Float64Array.of(0.5, -0.25, 0.1, 0.05), shape: [4] }
    const input = { data: Float64Array.of(1, -2), shape: [2, 1, 1] }
    const inputs = { input, inputH: { data: Float64Array.of(0.4), shape: [1, 1, 1] }, inputC: null, params }
    const { output, outputH } = await rnn.forward({ ...inputs, sequenceLengths: null, training: false })
    const first = Math.tanh(0.5 - 0.25 * 0.4 + 0.15)
    const second = Math.tanh(-1 - 0.25 * first + 0.15)
    expect([...(await output.read()).data]).toEqual([expect.closeTo(first, 15), expect.closeTo(second, 15)])
    expect([...(await outputH.read()).data]).toEqual([expect.closeTo(second, 15)])
  })

  it('keeps the state of a row without steps, and gives its gradient on', async () => {
    const { rnn, random, given } = open({ cellMode: 'lstm' })
    const run = await rnn.forward({ ...given, sequenceLengths: [0, T], training: true })
    const row = (data: ArrayLike<number>) => Array.from(data).slice(0, H)
    expect(row((await run.outputC!.read()).data)).toEqual(row(given.inputC!.data))
    const outputC = drawn(random, 1, 1, B, H)
    const gradients = await rnn.backward(run.tape!, { outputC })
    expect(row((await gradients.inputC!.read()).data)).toEqual(row(outputC.data))
    for (let t = 0; t < T; t++) {
      const { data } = await gradients.input.read()
      expect([...data.slice(t * B * I, t * B * I + I)]).toEqual([0, 0])
    }
  })

  it('reads host arrays once: a backward after they were overwritten is the same', async () => {
    const expected = await trained(() => {})
    const changed = await trained(({ given }) => {
      for (const tensor of Object.values(given)) tensor?.data.fill(9)
    })
    expect(changed).toEqual(expected)
  })

  it('draws other masks in each training pass, the same after the state of its dropout was restored', async () => {
    const { rnn, given } = open({ cellMode: 'gru', numLayers: 2, dropout: 0.5, seed: 5 })
    const run = async (training: boolean) =>
      Array.from((await (await rnn.forward({ ...given, sequenceLengths: null, training })).output.read()).data)
    const begin = await rnn.dropoutState()
    const first = await run(true)
    const inference = await run(false)
    expect(await run(true)).not.toEqual(first)
    expect(await run(false)).toEqual(inference)
    rnn.restoreDropoutState(begin)
    expect(await run(true)).toEqual(first)
    const other = open({ cellMode: 'gru', numLayers: 2, dropout: 0.5, seed: 6 })
    const { output } = await other.rnn.forward({ ...given, sequenceLengths: null, training: true })
    expect(Array.from((await output.read()).data)).not.toEqual(first)
    expect(() => rnn.restoreDropoutState(new Uint8Array(1))).toThrow(coded('ERR_DROPOUT_STATE'))
  })

  it('converts canonical parameters to its layout and back, bit for bit', async () => {
    const { rnn, descriptor, random } = open({ cellMode: 'lstm', numProj: 2, numLayers: 2 })
    const { weights, biases } = flatLayout(descriptor)
    const tensors = (regions: typeof weights) => regions.map(({ shape }) => drawn(random, 1, ...shape))
    const canonical = { weights: tensors(weights), biases: tensors(biases) }
    const params = rnn.canonicalToParams(canonical)
    expect([params.shape, params.layout]).toEqual([[rnn.paramsSize], layoutKey(descriptor)])
    expect(await rnn.paramsToCanonical(params)).toEqual(canonical)
    await expect(rnn.paramsToCanonical(drawn(random, 1, rnn.paramsSize + 1))).rejects.toThrow(coded('ERR_SHAPE'))
  })

  it('counts its tape until the backward, and refuses everything once it was disposed', async () => {
    const { backend, rnn, given } = open({ cellMode: 'lstm' })
    const inputs = { ...given, sequenceLengths: null, training: true }
    const { tape } = await rnn.forward(inputs)
    const { bytes, tapes } = backend.stats()
    expect([tapes, String(tape).startsWith('Tape { state: "open", bytes: ')]).toEqual([1, true])
    await expect(rnn.backward(tape!, { output: given.input })).rejects.toThrow(coded('ERR_SHAPE'))
    expect(backend.stats()).toMatchObject({ bytes, tapes: 1 })
    rnn.dispose()
    const refusal = coded('ERR_RNN_DISPOSED')
    await expect(rnn.forward(inputs)).rejects.toThrow(refusal)
    await expect(rnn.backward(tape!, {})).rejects.toThrow(refusal)
    await expect(rnn.dropoutState()).rejects.toThrow(refusal)
    expect(() => rnn.stepper(given.params, 1)).toThrow(refusal)
    tape?.dispose()
    expect(backend.stats()).toMatchObject({ tapes: 0, rnns: 0 })
  })
})

/** The gradients of a pass, between whose halves `change` is called. */
async function trained(change: (opened: ReturnType<typeof open>) => void) {
  const opened = open({ cellMode: 'gru' })
  const { rnn, given } = opened
  const { output, tape } = await rnn.forward({ ...given, sequenceLengths: [2, 3], training: true })
  const weights = { data: (await output.read()).data.slice() as Float64Array, shape: output.shape }
  change(opened)
  const gradients = await rnn.backward(tape!, { output: weights })
  const tensors = [gradients.input, gradients.inputH, gradients.params]
  return Promise.all(tensors.map(async (tensor) => Array.from((await tensor.read()).data)))
}
