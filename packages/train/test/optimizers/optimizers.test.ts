import type { BackendTensor } from '@cudnn-rnn/ops'
import { elementCount } from '@cudnn-rnn/canonical'
import { expectAllclose } from '@cudnn-rnn/conformance'
import { CudnnLSTM } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { Adagrad, Adam, type Optimizer, RmsProp, Sgd, type Trainable, weightDecayMask } from '../../src/index.js'
import type { Definition } from '../../src/optimizers/optimizer_spec.js'
import { filled, pytorch, tensorflow } from '../fixture.js'

const start = () => ({ data: filled(6, 0.6, 0.77, 0.4), shape: [6] })
const learningRate = (step: number) => 0.02 * (1.5 + Math.cos(0.1 * step))
// The values of fixtures/train/fills.py: exact in float32, through which Keras casts its hyperparameters.
const momentum = 0.875
const betas = { beta1: 0.875, beta2: 1 - 2 ** -10 }
const epsilon = 2 ** -10

type AdamOptions = NonNullable<ConstructorParameters<typeof Adam>[1]>
type Make = (variables: readonly Trainable[], definition: Definition) => Optimizer

const OPTIMIZERS: Readonly<Record<string, Make>> = {
  sgd: (v, definition) => new Sgd(v, { definition }),
  momentum: (v, definition) => new Sgd(v, { definition, momentum }),
  nesterov: (v, definition) => new Sgd(v, { definition, momentum, nesterov: true }),
  adam: (v, definition) => new Adam(v, { definition, ...betas, epsilon }),
  adamw: (v, definition) => new Adam(v, { definition, ...betas, epsilon, weightDecay: 0.125 }),
  rmsprop: (v, definition) => new RmsProp(v, { definition, epsilon, decay: momentum }),
  rmspropMomentum: (v, definition) => new RmsProp(v, { definition, epsilon, decay: momentum, momentum }),
  adagrad: (v, definition) => new Adagrad(v, { definition, epsilon, initialAccumulator: 0.125 }),
}

async function run(make: Make, definition: Definition, onStep: (step: number, x: ArrayLike<number>) => void) {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const value: BackendTensor = backend.tensor(start())
  using optimizer = make([{ name: 'x', backend, value }], definition)
  for (let step = 1; step <= 100; step++) {
    const x = (await value.read()).data
    const gradient = filled(6, 0.7, 0.43, 0.15 + 0.1 * step).map((g, k) => g + 0.1 * x[k])
    optimizer.apply([{ data: gradient, shape: [6] }], learningRate(step))
    onStep(step, (await value.read()).data)
  }
  expect(optimizer.step).toBe(100)
}

const oracles = { pytorch: pytorch.optimizers, tensorflow: tensorflow.optimizers } as const
const cases = Object.keys(OPTIMIZERS).flatMap((name) => [[name, 'pytorch'] as const, [name, 'tensorflow'] as const])

it.each(cases)('%s follows %s over 100 steps with a moving rate', async (name, definition) => {
  const expected = oracles[definition][name]
  await run(OPTIMIZERS[name], definition, (step, x) => {
    const values = expected[String(step)]
    if (values !== undefined) expectAllclose(`x after step ${step}`, x, values, 1e-12)
  })
})

it("Sgd with momentum follows TensorFlow's own ApplyMomentum, whose velocity is without the rate", async () => {
  await run(OPTIMIZERS['momentum'], 'pytorch', (step, x) => {
    if (step === 100) expectAllclose('x', x, tensorflow.rawMomentum, 1e-12)
  })
})

it('clipByGlobalNorm and clipByValue equal TensorFlow', async () => {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const make = (count: number, ...fill: [number, number, number]) =>
    backend.tensor({ data: filled(count, ...fill), shape: [count] })
  const tensors = [make(5, 3, 0.37, 0.1), make(3, 2, 0.53, 0.2)]
  const { norm, clipped } = tensorflow.clipByGlobalNorm
  expectAllclose('norm', (await backend.ops.clipByGlobalNorm(tensors, 1.5).read()).data, [norm], 1e-12)
  for (const [k, tensor] of tensors.entries()) {
    expectAllclose(`tensor ${k}`, (await tensor.read()).data, clipped[k], 1e-12)
  }
  const tensor = make(5, 3, 0.37, 0.1)
  backend.ops.clipByValue([tensor], 1)
  expectAllclose('clipped by value', (await tensor.read()).data, tensorflow.clipByValue, 1e-15)
})

it('weightDecayMask spares the biases inside an opaque buffer and nothing else', async () => {
  using backend = openReferenceBackend()
  using lstm = new CudnnLSTM(backend, { numLayers: 2, numUnits: 3, inputSize: 2, direction: 'bidirectional' })
  const ones = (tensors: readonly { shape: readonly number[] }[]) =>
    tensors.map(({ shape }) => ({ data: new Float32Array(elementCount(shape)).fill(1), shape }))
  const zeroed = await lstm.paramsToCanonical(lstm.createParams({ seed: 1 }))
  const value = await lstm.canonicalToParams(ones(zeroed.weights), ones(zeroed.biases))
  const mask = await weightDecayMask(backend, lstm)
  const optimizer = new Adam([{ name: 'opaque_kernel', backend, value }], { weightDecay: 0.5, decayMask: () => mask })
  optimizer.apply([backend.zeros(value.shape, { layout: value.layout })], 0.5)
  const { weights, biases } = await lstm.paramsToCanonical(value)
  expect(new Set(weights.flatMap(({ data }) => [...data]))).toEqual(new Set([0.75]))
  expect(new Set(biases.flatMap(({ data }) => [...data]))).toEqual(new Set([1]))
})

it.each([
  ['Sgd', (v: readonly Trainable[], options: AdamOptions) => new Sgd(v, { ...options, momentum })],
  ['Adam', (v: readonly Trainable[], options: AdamOptions) => new Adam(v, options)],
])('%s gives each variable its own rate and decay, as optimizers of one variable each have', async (_, make) => {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const variable = (name: string) => ({ name, backend, value: backend.tensor(start()) })
  const names = ['embedding', 'kernel', 'bias']
  const [together, apart] = [names.map(variable), names.map(variable)]
  const [rates, decays] = [[0, 0.25, 1], { embedding: 0.5, kernel: 0.125, bias: 0 } as Readonly<Record<string, number>>]
  const all = make(together, {
    rateFactor: ({ name }) => rates[names.indexOf(name)],
    weightDecay: ({ name }) => decays[name],
  })
  const each = apart.map((own) => make([own], { weightDecay: decays[own.name] }))
  for (let step = 1; step <= 3; step++) {
    const gradients = names.map((_, k) => ({ data: filled(6, 0.7, 0.43, 0.2 * step + k), shape: [6] }))
    all.apply(gradients, 0.5)
    for (const [k, optimizer] of each.entries()) optimizer.apply([gradients[k]], 0.5 * rates[k])
  }
  const valuesOf = (all: readonly Trainable[]) => Promise.all(all.map(async ({ value }) => [...(await value.data())]))
  expect(await valuesOf(together)).toEqual(await valuesOf(apart))
  expect(await valuesOf(together.slice(0, 1))).toEqual([[...start().data]]) // frozen
  expect(all.settings).toMatchObject({ rateFactor: rates, weightDecay: Object.values(decays) })
})

it.each([
  ['rateFactor of kernel', { rateFactor: () => -1 }, 'ERR_HYPERPARAMETER'],
  ['weightDecay of kernel', { weightDecay: () => Number.NaN }, 'ERR_HYPERPARAMETER'],
  ['decayMask', { decayMask: () => false as never }, 'ERR_INVALID_ARGUMENT'],
  ['rateFactor', { rateFactor: 0.1 as never }, 'ERR_INVALID_OPTION_TYPE'],
])('a wrong %s is refused', (words, options: AdamOptions, code) => {
  using backend = openReferenceBackend()
  const make = () => new Adam([{ name: 'kernel', backend, value: backend.zeros([1]) }], options)
  expect(make).toThrow(coded(code, { message: expect.stringContaining(` as ${words} `) }))
})

it('Optimizer.apply refuses before it updates anything', async () => {
  using backend = openReferenceBackend()
  const variables = ['a', 'b'].map((name) => ({ name, backend, value: backend.zeros([2]) }))
  const optimizer = new Sgd(variables)
  const ones = (count: number) => ({ data: new Float32Array(count).fill(1), shape: [count] })
  expect(() => optimizer.apply([ones(2)], 1)).toThrow(coded('ERR_GRADIENT_COUNT'))
  expect(() => optimizer.apply([ones(2), ones(3)], 1)).toThrow(coded('ERR_SHAPE'))
  expect(() => optimizer.apply([ones(2), ones(2)], Number.NaN)).toThrow(coded('ERR_HYPERPARAMETER'))
  using elsewhere = openReferenceBackend()
  expect(() => optimizer.apply([ones(2), elsewhere.zeros([2])], 1)).toThrow(coded('ERR_FOREIGN_TENSOR'))
  expect([...(await variables[0].value.read()).data]).toEqual([0, 0])
  expect(optimizer.step).toBe(0)
})

it('Optimizer refuses a variable that is listed twice, which it would update twice', () => {
  using backend = openReferenceBackend()
  const variables = ['x', 'y'].map((name) => ({ name, backend, value: backend.zeros([2]) })) as readonly Trainable[]
  expect(() => new Adam([...variables, ...variables.slice(0, 1)])).toThrow(
    coded('ERR_INVALID_OPTION', { variable: 'x' }),
  )
  expect(backend.stats().tensors).toBe(2)
})

it('Optimizer.apply refuses slots that were disposed and masks that do not fit before it decays anything', async () => {
  using backend = openReferenceBackend()
  const ones = (count: number) => ({ data: new Float32Array(count).fill(1), shape: [count] })
  const variable = { name: 'x', backend, value: backend.tensor(ones(2)) }
  const disposed = new Adam([variable], { weightDecay: 0.5 })
  disposed.dispose()
  expect(() => disposed.apply([ones(2)], 1)).toThrow(coded('ERR_TENSOR_DISPOSED'))
  const masked = new Adam([variable], { weightDecay: 0.5, decayMask: () => ones(3) })
  expect(() => masked.apply([ones(2)], 1)).toThrow(coded('ERR_SHAPE'))
  expect([...(await variable.value.read()).data]).toEqual([1, 1])
  expect([disposed.step, masked.step]).toEqual([0, 0])
})

it('Optimizer slots have the layout of their variable and TensorFlow names', () => {
  using backend = openReferenceBackend()
  using lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 2, inputSize: 2 })
  const params = lstm.createParams({ name: 'opaque_kernel' })
  const { slots } = new Adam([params])
  expect(slots.map(({ name }) => name)).toEqual(['opaque_kernel/Adam', 'opaque_kernel/Adam_1'])
  expect(slots[0].value.layout).toBe(params.value.layout)
})

it.each([Sgd, Adam, RmsProp, Adagrad])(
  '%o refuses unknown options, a variable for a list, and variables without an executor or of two',
  (Kind) => {
    using backend = openReferenceBackend()
    const variable = { name: 'a', backend, value: backend.zeros([2]) }
    const before = backend.stats()
    expect(() => new Kind([variable], { weightdecay: 0.1 } as never)).toThrow(coded('ERR_UNKNOWN_OPTION'))
    expect(() => new Kind(variable as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
    expect(() => new Kind([])).toThrow(coded('ERR_INVALID_ARGUMENT'))
    const { name, value } = variable
    expect(() => new Kind([{ name, value }])).toThrow(coded('ERR_INVALID_ARGUMENT'))
    expect(() => new Kind([{ ...variable, backend: {} as never }])).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
    using other = openReferenceBackend()
    expect(() => new Kind([variable, { name: 'b', value: other.zeros([2]) }])).toThrow(coded('ERR_FOREIGN_TENSOR'))
    expect(backend.stats()).toEqual(before)
  },
)
