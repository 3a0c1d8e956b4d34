import {
  createRnnDescriptor,
  elementCount,
  flatLayout,
  hiddenColumns,
  numPseudoLayers,
  type Tensor,
} from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import golden from '../../../fixtures/rnn/tf_golden.json'
import { coveringCases } from './covering_cases.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { concatenated, filled } from './fills.js'
import { decodeFloat64, type FixtureCase } from './fixture_case.js'
import { expectNumbers, type NetworkMaker, type Numbers } from './rounding_oracle.js'
import { trainingForward } from './training_forward.js'

/** The tests of tf.contrib.cudnn_rnn accept 1e-2; float32 arithmetic is this good, and 16-bit arithmetic is not. */
const sumTolerance = (tolerance: number) => Math.max(1e-6, tolerance / 2)

/** TensorFlow's own numbers: testSimpleInference of its releases 0.11 to 1.12, and 24 networks with all gradients. */
export function registerGoldenConformance({ open, dtype, tolerance, roundingOracle, extent }: ExecutorUnderTest): void {
  const cases = extent === 'all' ? golden.cases : coveringGoldens()
  describe('agrees with the golden numbers of TensorFlow', () => {
    test.each((extent === 'all' ? golden.inference : []).map((c) => [c.rnn_mode, c] as const))(
      'cudnn_rnn_ops_test testSimpleInference %s',
      async (_, c) => {
        for (const dropout of c.dropouts) {
          using backend = await open()
          const ones = (...shape: number[]) => ({ data: filled('x', shape, dtype).data.fill(1), shape })
          const rnn = backend.rnn(
            createRnnDescriptor({
              cellMode: c.rnn_mode as FixtureCase['cellMode'],
              numLayers: c.num_layers,
              numUnits: c.num_units,
              inputSize: c.input_size,
              inputMode: 'linear_input',
              dropout,
            }),
          )
          const state = ones(c.num_layers, c.batch_size, c.num_units)
          const { output, outputH, outputC } = await rnn.forward({
            input: ones(c.seq_length, c.batch_size, c.input_size),
            inputH: state,
            inputC: c.rnn_mode === 'lstm' ? state : null,
            params: ones(rnn.paramsSize),
            sequenceLengths: null,
            training: false,
          })
          let sum = 0
          for (const tensor of [output, outputH, outputC])
            for (const value of (await tensor?.read())?.data ?? []) sum += value
          expect(Math.abs(sum - c.expected) / c.expected).toBeLessThan(sumTolerance(tolerance))
        }
      },
    )

    test.each(cases.map((c) => [c.id, c] as const))('%s, forward and every gradient', async (_, c) => {
      using backend = await open()
      const run = (maker: NetworkMaker) => runGolden(maker, c)
      await expectNumbers({ id: c.id, numbers: goldenNumbers(c), run }, backend, tolerance, roundingOracle)
    })
  })
}

type GoldenCase = (typeof golden.cases)[number]

function coveringGoldens(): readonly GoldenCase[] {
  return coveringCases(golden.cases, (c) => ({
    cellMode: c.rnn_mode,
    direction: c.direction,
    inputMode: c.input_mode,
    ragged: c.sequence_lengths !== null,
  }))
}

async function runGolden(backend: NetworkMaker, c: GoldenCase): Promise<Numbers> {
  const { dtype } = backend
  const descriptor = createRnnDescriptor({
    cellMode: c.rnn_mode as FixtureCase['cellMode'],
    numLayers: c.num_layers,
    numUnits: c.num_units,
    inputSize: c.input_size,
    inputMode: c.input_mode as FixtureCase['inputMode'],
    direction: c.direction as FixtureCase['direction'],
  })
  const rnn = backend.rnn(descriptor)
  const isLstm = descriptor.cellMode === 'lstm'
  const stateShape = [numPseudoLayers(descriptor), c.batch_size, hiddenColumns(descriptor)]
  const run = await trainingForward(rnn, {
    input: filled('x', [c.seq_length, c.batch_size, c.input_size], dtype),
    inputH: filled('h0', stateShape, dtype),
    inputC: isLstm ? filled('c0', stateShape, dtype) : null,
    params: rnn.canonicalToParams({
      weights: goldenWeights(c, dtype),
      biases: runningFill(
        'biases',
        flatLayout(descriptor).biases.map(({ shape }) => shape),
        dtype,
      ),
    }),
    sequenceLengths: c.sequence_lengths,
  })
  const ones = (tensor: { shape: readonly number[] } | undefined) =>
    tensor && { data: filled('x', tensor.shape, dtype).data.fill(1), shape: tensor.shape }
  const gradients = await rnn.backward(run.tape, {
    output: ones(run.output),
    outputH: ones(run.outputH),
    outputC: ones(run.outputC),
  })
  const canonical = await rnn.paramsToCanonical(gradients.params)
  const tensors = {
    output: run.output,
    output_h: run.outputH,
    output_c: run.outputC,
    grad_x: gradients.input,
    grad_h0: gradients.inputH,
    grad_c0: gradients.inputC,
  }
  const numbers: Record<string, ArrayLike<number>> = {
    grad_biases_flat: concatenated(canonical.biases),
    grad_weights_flat: concatenated(canonical.weights),
  }
  for (const [name, tensor] of Object.entries(tensors)) {
    if (tensor !== undefined) numbers[name] = (await tensor.read()).data
  }
  return numbers
}

function goldenNumbers(c: GoldenCase): Numbers {
  const expected = Object.entries<string>(c.expected).map(([name, text]) => [name, decodeFloat64(text)] as const)
  const numbers = Object.fromEntries<ArrayLike<number>>(expected)
  return { ...numbers, grad_weights_flat: withoutDeadWeights(c, decodeFloat64(c.expected.grad_weights_flat)) }
}

/** cuDNN up to 5.1 kept matrices that skip_input never reads; the golden lists hold them, networks of today do not. */
function isDead(c: GoldenCase, index: number): boolean {
  const perLayer = c.weight_shapes.length / c.num_layers
  const gates = perLayer / (c.direction === 'bidirectional' ? 4 : 2)
  return c.input_mode === 'skip_input' && index < perLayer && index % (2 * gates) < gates
}

function goldenWeights(c: GoldenCase, dtype: ExecutorUnderTest['dtype']): Tensor<Float32Array | Float64Array>[] {
  return runningFill('weights', c.weight_shapes, dtype).map((tensor, index) =>
    isDead(c, index) ? { data: tensor.data.slice(0, 0), shape: [tensor.shape[0], 0] } : tensor,
  )
}

function withoutDeadWeights(c: GoldenCase, flat: Float64Array): number[] {
  let begin = 0
  return c.weight_shapes.flatMap((shape, index) => {
    const values = Array.from(flat.slice(begin, begin + elementCount(shape)))
    begin += elementCount(shape)
    return isDead(c, index) ? [] : values
  })
}

/** Tensors of these shapes, filled with one running index. */
function runningFill(
  name: 'weights' | 'biases',
  shapes: readonly (readonly number[])[],
  dtype: ExecutorUnderTest['dtype'],
) {
  let start = 0
  return shapes.map((shape) => {
    const tensor = filled(name, shape, dtype, { start })
    start += elementCount(shape)
    return tensor
  })
}
