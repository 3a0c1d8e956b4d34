import { encodeKerasArchive } from '@cudnn-rnn/interop'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { importKeras, sequential } from '../../src/index.js'
import { stepFunction } from '../../src/kinds/step_function.js'

/** A vector of the length 5e-8, between the bounds of Keras 2 and 3. */
const short = { data: Float32Array.of(3e-8, 4e-8), shape: [1, 2] }

it('stepFunction unit divides a vector by its length, however short', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [stepFunction({ function: 'unit' })], { inputSize: 2, isSequence: false })
  const { data } = await model.predict(short)
  expect(data[0]).toBeCloseTo(0.6, 6)
  expect(data[1]).toBeCloseTo(0.8, 6)
})

it('stepFunction unit of a file of Keras 2 divides by 1e-6 at least, which files of Keras 3 cannot say', async () => {
  const input = { class_name: 'InputLayer', config: { name: 'x', batch_input_shape: [null, 2] } }
  const layers = [input, { class_name: 'UnitNormalization', config: { name: 'unit', axis: [-1] } }]
  const topology = { keras_version: '2.8.0', model_config: { class_name: 'Sequential', config: { layers } } }
  const file = JSON.stringify({ format: 'layers-model', modelTopology: topology, weightsManifest: [] })
  using backend = openReferenceBackend()
  using model = await importKeras(backend, new TextEncoder().encode(file))
  const { data } = await model.predict(short)
  expect(data[0]).toBeCloseTo(0.03, 6)
  await expect(model.export('keras')).rejects.toThrow(coded('ERR_NO_EXPORT'))
})

interface Operation {
  readonly name: string
  readonly config?: object
  readonly args?: readonly unknown[]
  readonly kwargs?: object
}

/** A functional model of operations of `keras.ops`, one behind the other; X in arguments is the input, or the output before. */
function operationsFile(shape: readonly unknown[], operations: readonly Operation[]): Promise<Uint8Array> {
  const X = 'x'
  const tensor = (place: string) => ({ class_name: '__keras_tensor__', config: { keras_history: [place, 0, 0] } })
  const layers = operations.map(({ name, config = {}, args = [X], kwargs = {} }, k) => ({
    ...{ class_name: name, module: 'keras.src.ops.numpy', name: `o${k}`, config: { name: `o${k}`, ...config } },
    inbound_nodes: [{ args: args.map((each) => (each === X ? tensor(k === 0 ? X : `o${k - 1}`) : each)), kwargs }],
  }))
  const input = { class_name: 'InputLayer', name: X, config: { name: X, batch_shape: shape }, inbound_nodes: [] }
  const places = { input_layers: [[X, 0, 0]], output_layers: [[`o${layers.length - 1}`, 0, 0]] }
  return encodeKerasArchive({ class_name: 'Functional', config: { layers: [input, ...layers], ...places } }, new Map())
}

it.each<[string, readonly Operation[], (x: number) => number]>([
  ['square', [{ name: 'Square' }], (x) => x ** 2],
  ['sqrt', [{ name: 'Sqrt' }], Math.sqrt],
  ['rsqrt', [{ name: 'Rsqrt' }], (x) => 1 / Math.sqrt(x)],
  ['reciprocal', [{ name: 'Reciprocal' }], (x) => 1 / x],
  ['log', [{ name: 'Log' }], Math.log],
  ['x ** 3', [{ name: 'Power', args: ['x', 3] }], (x) => x ** 3],
  ['3 / x', [{ name: 'TrueDivide', args: [3, 'x'] }], (x) => 3 / x],
  ['x / 4', [{ name: 'Divide', args: ['x', 4] }], (x) => x / 4],
  [
    '(x - 1) / x',
    [
      { name: 'Subtract', args: ['x', 1] },
      { name: 'TrueDivide', args: ['x', 'x'] },
    ],
    () => 1,
  ],
  ['clip', [{ name: 'Clip', config: { x_min: 0.5, x_max: 2 } }], (x) => Math.min(Math.max(x, 0.5), 2)],
  ['maximum', [{ name: 'Maximum', args: [1.5, 'x'] }], (x) => Math.max(x, 1.5)],
  ['minimum', [{ name: 'Minimum', args: ['x', 1.5] }], (x) => Math.min(x, 1.5)],
])('the operation %s of Keras is that of each number, also behind an export', async (_, operations, of) => {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const input = { data: Float64Array.of(0.25, 1.25, 3), shape: [1, 3] }
  using model = await importKeras(backend, await operationsFile([null, 3], operations))
  using again = await importKeras(backend, await model.export('keras'))
  for (const each of [model, again]) {
    const [output] = each.graph.isChain
      ? [await each.predict(input)]
      : Object.values(await each.predict({ [each.graph.inputs[0]?.name ?? '']: input }))
    for (const [k, value] of input.data.entries()) expect(output?.data[k]).toBeCloseTo(of(value), 12)
  }
})

it('a power of a number is refused, which no layer here computes', async () => {
  using backend = openReferenceBackend()
  const file = await operationsFile([null, 3], [{ name: 'Power', args: [2, 'x'] }])
  await expect(importKeras(backend, file)).rejects.toThrow(coded('ERR_UNKNOWN_LAYER', { layer: 'o0 (Power)' }))
})

it('a random layer of Keras is without effect, also if its call has training=True', async () => {
  using backend = openReferenceBackend()
  const drawn = { name: 'RandomContrast', config: { factor: 0.1 }, kwargs: { training: true } }
  using model = await importKeras(backend, await operationsFile([null, 2], [drawn]))
  const [output] = Object.values(await model.predict({ [model.graph.inputs[0]?.name ?? '']: short }))
  expect(output?.data).toEqual(short.data)
})

it.each([
  ['Var', 1, 8],
  ['Std', -2, Math.sqrt(8)],
])('the operation %s of Keras is over the steps', async (name, axis, expected) => {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const file = await operationsFile([null, 3, 1], [{ name, config: { axis, keepdims: false } }])
  using model = await importKeras(backend, file)
  const input = { data: Float64Array.of(1, 1, 7), shape: [3, 1, 1] }
  const [output] = Object.values(await model.predict({ [model.graph.inputs[0]?.name ?? '']: input }))
  expect(output?.data[0]).toBeCloseTo(expected, 12)
})
