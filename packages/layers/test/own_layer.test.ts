import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { type GradientTape, infer, type Value, valueAndGrad } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { cudnnGRU, dense, integer, layer, layerNorm, loadModel, multiply, number, sequential } from '../src/index.js'

const gated = layer('gated', { units: integer({ minimum: 1 }) }, ({ units }, input) => ({
  variables: { gate: [[input.features, units], 'glorot_uniform'], kernel: [[input.features, units], 'glorot_uniform'] },
  output: { ...input, features: units },
  isStepwise: true,
  forward: (t, x, { gate, kernel }) => t.multiply(t.activate(t.matmul(x, gate), 'sigmoid'), t.matmul(x, kernel)),
}))
const [T, B, I] = [5, 3, 2]
const host = (shape: readonly number[], at = 1) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => Math.sin(at + 1.7 * k)),
  shape,
})
const batch = { input: host([T, B, I]), labels: host([T, B, 1], 3) }

it.each([openReferenceBackend, openCpuBackend])('trains a layer like one of the library: %o', async (open) => {
  using backend = open()
  const losses: number[][] = []
  const kernelInitializer = 0.1
  const twin = layer('twin', { units: integer() }, ({ units }, input) => ({
    variables: { kernel: [[input.features, units], 'glorot_uniform'], bias: [[units], 0] },
    output: { ...input, features: units },
    forward: (t, x, v) => t.activate(t.linear(x, v.kernel, v.bias), 'tanh'),
  }))
  const own = twin({ units: 4, initializers: { kernel: kernelInitializer } })
  for (const first of [dense({ units: 4, activation: 'tanh', kernelInitializer }), own]) {
    using model = sequential(backend, [first, layerNorm(), dense({ units: 1 })], { inputSize: I, seed: 1 })
    const curve: number[] = []
    await model.fit(
      Array.from({ length: 6 }, () => batch),
      {
        loss: 'mean_squared_error',
        learningRate: 0.05,
        onStep: ({ loss }) => void curve.push(loss),
      },
    )
    losses.push(curve)
  }
  expect(losses[1]?.map((loss) => expect.closeTo(loss, 5))).toEqual(losses[0])
  expect(backend.stats()).toMatchObject({ tensors: 0, tapes: 0 })
})

it('predicts, streams, saves and loads', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [gated({ units: 4 }), cudnnGRU({ numUnits: 3 })], { inputSize: I, seed: 1 })
  const y = await model.predict(batch.input)
  const stream = model.stream({ batch: B })
  const steps = await stream.step(batch.input)
  expect(steps.data).toEqual(y.data)
  stream.dispose()
  const path = join(mkdtempSync(join(tmpdir(), 'own-layer-')), 'model')
  await model.save(path)
  using again = await loadModel(backend, path, { layers: { gated: gated({ units: 4 }) } })
  expect((await again.predict(batch.input)).data).toEqual(y.data)
})

it('trains by a loss of its caller', async () => {
  using backend = openReferenceBackend()
  const losses: number[][] = []
  const own = [
    'mean_squared_error' as const,
    (t: never, output: never, { labels }: typeof batch) => squares(t, output, labels),
  ]
  for (const loss of own) {
    using model = sequential(backend, [gated({ units: 4 }), dense({ units: 1 })], { inputSize: I, seed: 1 })
    const made: number[] = []
    await model.fit([batch, batch, batch], {
      loss: loss as 'mean_squared_error',
      onStep: (step) => void made.push(step.loss),
    })
    losses.push([...made, (await model.evaluate([batch])).loss])
  }
  expect(losses[1]?.map((loss) => expect.closeTo(loss, 6))).toEqual(losses[0])
  expect(backend.stats().tensors).toBe(0)
})
const squares = (
  t: { mean(x: unknown): never; square(x: unknown): never; subtract(a: unknown, b: unknown): never },
  y: never,
  labels: unknown,
) => t.mean(t.square(t.subtract(y, labels)))

it('a model on the tape of its caller has the gradients of call and gradients', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [gated({ units: 4 }), cudnnGRU({ numUnits: 1 })], { inputSize: I, seed: 1 })
  const { tensors } = backend.stats()
  const sequenceLengths = [5, 2, 4]
  const loss = valueAndGrad(async (t, _: typeof model.variables) => {
    const { output } = await model.record(t, batch.input, { sequenceLengths })
    return t.elementLoss(output, batch.labels, 'squared_error')
  })
  const recorded = await loss(model.variables)
  const { output, tape } = await model.call(batch.input, { sequenceLengths })
  const { gradient, ...made } = backend.ops.elementLoss(output, batch.labels, 'squared_error')
  const called = await model.gradients(tape!, gradient)
  const read = (list: readonly { read(): Promise<unknown> }[]) => Promise.all(list.map((tensor) => tensor.read()))
  expect(await read(recorded.gradients)).toEqual(await read(called.variables))
  expect(await recorded.value.read()).toEqual(await made.loss.read())
  const all = [recorded.value, ...recorded.gradients, output, gradient, made.loss, called.input, ...called.variables]
  for (const tensor of all) tensor?.dispose()
  expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
})

it('refuses wrong arguments of a model on a tape, and leaves nothing', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [gated({ units: 4 })], { inputSize: I })
  const { tensors } = backend.stats()
  await expect(model.record({} as never, batch.input)).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
  const given: readonly (readonly [unknown, unknown, string])[] = [
    [host([T, B, 3]), {}, 'ERR_SHAPE'],
    [undefined, {}, 'ERR_NOT_A_TENSOR'],
    [batch.input, { isTraining: true }, 'ERR_UNKNOWN_OPTION'],
    [batch.input, { sequenceLengths: [1] }, 'ERR_SEQUENCE_LENGTHS'],
    [batch.input, { states: [batch.input] }, 'ERR_LAYER_STATES'],
  ]
  for (const [input, options, code] of given) {
    const run = infer(
      async (t, _: typeof model.variables) => (await model.record(t, input as never, options as never)).output,
    )
    await expect(run(model.variables), code).rejects.toThrow(coded(code))
  }
  expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
})

it('disposes everything where a forward or a loss fails', async () => {
  using backend = openReferenceBackend()
  const failing = layer('failing', {}, (_, input) => ({
    output: input,
    forward: (t, x) => {
      t.activate(x, 'tanh')
      throw new Error('half-way')
    },
  }))
  using model = sequential(backend, [dense({ units: 2 }), failing({})], { inputSize: I })
  const { tensors } = backend.stats()
  await expect(model.predict(batch.input)).rejects.toThrow('half-way')
  await expect(model.call(batch.input)).rejects.toThrow('half-way')
  expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
  using other = sequential(backend, [dense({ units: 1 })], { inputSize: I })
  const before = backend.stats().tensors
  await expect(other.fit([batch], { loss: (t, y) => t.square(y) })).rejects.toThrow(coded('ERR_SHAPE'))
  await expect(other.fit([batch], { loss: () => undefined as never })).rejects.toThrow(coded('ERR_NOT_A_TENSOR'))
  expect(backend.stats().tensors).toBe(before)
})

const shaped = (forward: Parameters<typeof layer<Record<never, never>, Record<never, never>>>[2]) => {
  return layer('shaped', {}, forward)({})
}

it.each([
  ['a number', (t: GradientTape, x: Value) => t.mean(x)],
  ['the steps alone', (t: GradientTape, x: Value) => t.mean(x, { axes: [1] })],
  ['other columns', (t: GradientTape, x: Value) => t.columns(x, 0, 1)],
  ['other rows, later', async (t: GradientTape, x: Value) => t.slice(x, [0, 1, 0], [T, B - 1, I])],
])('refuses a forward that gives %s in place of its output', async (_, forward) => {
  using backend = openReferenceBackend()
  const layers = [dense({ units: I }), shaped((__, input) => ({ output: input, forward }))]
  using model = sequential(backend, layers, { inputSize: I })
  const { tensors } = backend.stats()
  await expect(model.predict(batch.input)).rejects.toThrow(coded('ERR_SHAPE', { layer: 'shaped' }))
  await expect(model.fit([batch], { loss: (t, y) => t.mean(y) })).rejects.toThrow(coded('ERR_SHAPE'))
  expect(backend.stats()).toMatchObject({ tensors, tapes: 0 })
})

it.each([[[-1, 2]], [[1.5, 2]], [['a', 2]]])('refuses a variable of the shape %o', (shape) => {
  using backend = openReferenceBackend()
  const wrong = shaped((_, input) => ({ variables: { w: [shape as never, 0] }, output: input, forward: (_, x) => x }))
  expect(() => sequential(backend, [wrong], { inputSize: I })).toThrow(coded('ERR_SHAPE'))
})

it('takes no options if none is required', () => {
  using backend = openReferenceBackend()
  const doubled = layer('doubled', {}, (_, output) => ({ output, forward: (t, x) => t.add(x, x) }))
  expect(sequential(backend, [doubled()], { inputSize: 2 }).summary()).toContain('doubled')
  // @ts-expect-error units are required
  expect(() => gated()).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
})

it('refuses definitions, options and inputs that are wrong', () => {
  using backend = openReferenceBackend()
  expect(() => layer(1 as never, {}, () => ({}) as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  expect(() => layer('x', null as never, () => ({}) as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  expect(() => layer('x', {}, 1 as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
  expect(() => gated({ units: 0 })).toThrow(coded('ERR_INVALID_OPTION'))
  expect(() => gated({ units: 1, other: 1 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
  expect(() => integer({ most: 1 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
  expect(() => number(1 as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  const ids = { input: { isSequence: true, features: null } }
  expect(() => sequential(backend, [gated({ units: 1 })], ids as never)).toThrow()
  expect(() => multiply([[gated({ units: 2 })], [gated({ units: 2 })]])).not.toThrow()
})
