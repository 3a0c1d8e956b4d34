import type { GradientTape } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import {
  add,
  concat,
  conv1d,
  cudnnGRU,
  cudnnLSTM,
  dense,
  Layer,
  type LayerDefinition,
  type LayerInput,
  lastStep,
  multiply,
  sequential,
} from '../../src/index.js'
import { statelessStream } from '../../src/layer_stream.js'

const dtype = 'float64' as const
const doubles = (shape: readonly number[], ...data: number[]) => ({ data: Float64Array.from(data), shape })
const failure = new Error('no memory is left')

/** A layer of zeros, of which one method fails. */
function failing(method: 'backward' | 'step'): LayerDefinition {
  const definition: LayerDefinition = {
    kind: 'failing',
    name: undefined,
    config: {},
    build: (input, { backend }) => new FailingLayer(backend, { definition, name: method, input, output: input }),
  }
  return definition
}

class FailingLayer extends Layer {
  forward(t: GradientTape, x: LayerInput) {
    const result = t.recording.newValue(t.backend.zeros(x.shape), true, t.made)
    const pass = () => {
      throw failure
    }
    const operands = [t.value(x)]
    t.recording.add({ name: 'failing', operands, results: [result], held: [], operandName: () => 'x', pass })
    return result
  }

  override openStream() {
    const step = async () => {
      throw failure
    }
    return statelessStream(step)
  }
}

/** dense without a bias, by its one column of weights. */
const column = (...weights: number[]) =>
  dense({ units: 1, kernelInitializer: doubles([weights.length, 1], ...weights) })

type Branch = LayerDefinition | readonly LayerDefinition[]

describe('branches', () => {
  const input = doubles([1, 1, 2], 3, 5)

  test.each<[string, (branches: readonly [Branch, Branch]) => LayerDefinition, number[]]>([
    ['concat sets them side by side', concat, [3, 50]],
    ['add adds them', add, [53]],
    ['multiply multiplies them', multiply, [150]],
  ])('%s', async (_, join, expected) => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [join([column(1, 0), [column(0, 2), column(5)]])], { inputSize: 2 })
    expect([...(await model.predict(input)).data]).toEqual(expected)
  })

  test.each<[string, (branches: readonly [Branch, Branch]) => LayerDefinition, number[], number[]]>([
    // y = [x·(1,2), x·(3,4)], and the gradient of 10·y0 + 100·y1.
    ['concat', concat, [10, 100], [310, 420]],
    // 10·(x·(1,2) + x·(3,4))
    ['add', add, [10], [40, 60]],
    // 10·(x·(1,2))·(x·(3,4)), where the factors are 13 and 29.
    ['multiply', multiply, [10], [10 * (29 * 1 + 13 * 3), 10 * (29 * 2 + 13 * 4)]],
  ])('the gradient of %s reaches the input through each of them', async (_, join, slope, expected) => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [join([column(1, 2), column(3, 4)])], { inputSize: 2 })
    const { output, tape } = await model.call(input)
    const gradients = await model.gradients(tape!, doubles(output.shape, ...slope))
    expect([...(await gradients.input!.read()).data]).toEqual(expected)
  })

  test('the input twice is the input doubled, and so is its gradient', async () => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [add([[], []])], { inputSize: 2 })
    const { output, tape } = await model.call(input)
    expect([...(await output.read()).data]).toEqual([6, 10])
    const gradients = await model.gradients(tape!, doubles([1, 1, 2], 1, -4))
    expect([...(await gradients.input!.read()).data]).toEqual([2, -8])
    expect(gradients.variables).toEqual([])
    gradients.input!.dispose()
    output.dispose()
    expect(backend.stats()).toMatchObject({ tensors: 0, tapes: 0 })
  })

  test('states of recurrent layers are those of the branches in their order, and carry over', async () => {
    using backend = openReferenceBackend({ dtype })
    const layers = [concat([cudnnLSTM({ numUnits: 2 }), dense({ units: 1 }), cudnnGRU({ numUnits: 3 })])]
    using model = sequential(backend, layers, { inputSize: 2, seed: 4 })
    expect(model.stateShapes(2)).toEqual([
      [1, 2, 2],
      [1, 2, 2],
      [1, 2, 3],
    ])
    const steps = Float64Array.from({ length: 16 }, (_, k) => Math.sin(k))
    const options = { isTraining: false, keepStates: true }
    const whole = await model.call({ data: steps, shape: [4, 2, 2] }, options)
    const first = await model.call({ data: steps.slice(0, 8), shape: [2, 2, 2] }, options)
    const { states } = first
    const second = await model.call({ data: steps.slice(8), shape: [2, 2, 2] }, { ...options, states })
    const read = async ({ output }: typeof whole) => [...(await output.read()).data]
    expect([...(await read(first)), ...(await read(second))]).toEqual(await read(whole))
    expect(second.states.map(({ shape }) => shape)).toEqual(model.stateShapes(2))
  })

  test.each<[string, LayerDefinition, RegExp]>([
    [
      'a sequence and a vector',
      concat([dense({ units: 1 }), lastStep()]),
      /all of its operands must be sequences, or none/,
    ],
    [
      'sums of unequal columns',
      add([dense({ units: 3 }), [dense({ units: 2 })]]),
      /dense gives \[T,B,3\], dense_1 gives \[T,B,2\]/,
    ],
    [
      'the input and other columns',
      multiply([[], dense({ units: 3 })]),
      /an empty branch gives \[T,B,2\], dense gives \[T,B,3\]/,
    ],
  ])('of %s are refused, and nothing is left', (_, layer, message) => {
    using backend = openReferenceBackend({ dtype })
    const open = () => sequential(backend, [layer], { inputSize: 2 })
    expect(open).toThrow(coded('ERR_LAYERS_DO_NOT_FIT'))
    expect(open).toThrow(message)
    expect(backend.stats()).toMatchObject({ tensors: 0, rnns: 0 })
  })
})

describe('a failure in one branch leaves no tensor of the others', () => {
  test.each([true, false])('in a forward whose outputs differ in length, isTraining %s', async (isTraining) => {
    using backend = openReferenceBackend({ dtype })
    const layers = [concat([cudnnLSTM({ numUnits: 2 }), conv1d({ filters: 1, kernelSize: 2 })])]
    using model = sequential(backend, layers, { inputSize: 2 })
    const before = backend.stats()
    const input = doubles([3, 1, 2], 1, 2, 3, 4, 5, 6)
    await expect(model.call(input, { isTraining, keepStates: true })).rejects.toThrow(coded('ERR_SHAPE'))
    expect(backend.stats()).toEqual(before)
  })

  test.each([
    ['the first', [failing('backward'), dense({ units: 2 }), []]],
    ['the last', [dense({ units: 2 }), [], failing('backward')]],
  ])('in the backward of %s', async (_, branches) => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, [dense({ units: 2 }), add(branches)], { inputSize: 2 })
    const before = backend.stats()
    const { output, tape } = await model.call(doubles([1, 1, 2], 1, 2))
    await expect(model.gradients(tape!, doubles([1, 1, 2], 1, 1))).rejects.toThrow(failure)
    output.dispose()
    expect(backend.stats()).toEqual(before)
  })

  test('as a stream opens that the other cannot have', () => {
    using backend = openReferenceBackend({ dtype })
    const layers = [concat([[cudnnLSTM({ numUnits: 2 }), dense({ units: 1 })], conv1d({ filters: 1, kernelSize: 2 })])]
    using model = sequential(backend, layers, { inputSize: 2 })
    const before = backend.stats()
    expect(() => model.stream()).toThrow(coded('ERR_NO_STREAM'))
    expect(backend.stats()).toEqual(before)
  })

  test.each([
    ['beside it', [concat([dense({ units: 2 }), failing('step')])]],
    ['after it', [dense({ units: 2 }), failing('step')]],
  ])('in a step %s', async (_, layers) => {
    using backend = openReferenceBackend({ dtype })
    using model = sequential(backend, layers, { inputSize: 2 })
    const before = backend.stats()
    using stream = model.stream()
    await expect(stream.step(doubles([1, 2], 1, 2))).rejects.toThrow(failure)
    expect(backend.stats()).toEqual(before)
  })
})
