import type { Backend, BackendTensor } from '@cudnn-rnn/backend'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it, test } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { callsOf, failingAt } from '../../../scripts/failing_backend.mjs'
import type { FloatTensor } from '../src/float_tensor.js'
import { UGRNNCell } from '../src/index.js'
import { TensorGraph } from '../src/tensor_graph.js'
import type { TensorValue } from '../src/tensor_value.js'
import { expectClose, float64 } from './cell_checks.js'
import { definition, GRAPH_OPERATIONS, type GraphOperation, hostGradients, tensorsOf } from './graph_operations.js'

const open = () => openReferenceBackend({ dtype: 'float64' })

async function expectTensor(tensor: BackendTensor | undefined, { data, shape }: FloatTensor, what: string) {
  expect(tensor?.shape, what).toEqual(shape)
  expectClose((await (tensor as BackendTensor).read()).data, data, 1e-13, what)
}

/** Applies an operation to values of the operands, those of `constants` without a gradient. */
function applied(graph: TensorGraph, { apply }: GraphOperation, operands: Map<string, FloatTensor>, constants = ['']) {
  const values = Object.fromEntries(
    [...operands].map(([name, tensor]) => [
      name,
      constants.includes(name) ? graph.constant(tensor) : graph.input(tensor),
    ]),
  )
  return { values, result: apply(graph, values) }
}

describe.each(Object.entries(GRAPH_OPERATIONS))('TensorGraph: %s', (name, operation) => {
  const operands = tensorsOf(operation.operands, 0)
  const variables = tensorsOf(operation.variables ?? {}, 40)
  const { weights, gradients } = hostGradients(operation, operands, variables)

  test('has the values of its definition, the gradients of HostGraph, and gives back every tensor', async () => {
    using backend = open()
    const graph = TensorGraph.open(backend, variables, true)
    const { values, result } = applied(graph, operation, operands)
    const expected = definition(operation, new Map([...operands, ...variables]), result.shape)
    await expectTensor(result.tensor, float64(expected, result.shape), name)
    result.give(backend.ops, backend.tensor(weights))
    graph.backward()
    for (const [each, value] of Object.entries(values)) {
      using gradient = value.takeGradient() ?? backend.zeros(value.shape)
      await expectTensor(gradient, gradients.get(each) as FloatTensor, `${name} by ${each}`)
    }
    for (const [each, { shape }] of variables) {
      using gradient = graph.variableGradient(each, shape)
      await expectTensor(gradient, gradients.get(each) as FloatTensor, `${name} by ${each}`)
    }
    graph.dispose()
    expect(backend.stats().tensors).toBe(0)
  })

  test('has the gradients of the other operands where the first is constant', async () => {
    using backend = open()
    const graph = TensorGraph.open(backend, variables, true)
    const [first] = operands.keys()
    const { values, result } = applied(graph, operation, operands, [first])
    result.give(backend.ops, backend.tensor(weights))
    graph.backward()
    for (const [each, value] of Object.entries(values)) {
      using gradient = value.takeGradient()
      if (each === first) expect(gradient).toBeUndefined()
      else await expectTensor(gradient, gradients.get(each) as FloatTensor, `${name} by ${each}`)
    }
    graph.dispose()
    expect(backend.stats().tensors).toBe(0)
  })

  test('passes on no gradient where its result has none', () => {
    using backend = open()
    const graph = TensorGraph.open(backend, variables, true)
    const { values } = applied(graph, operation, operands)
    graph.backward()
    expect(Object.values(values).map(({ gradient }) => gradient)).toEqual(Object.values(values).map(() => undefined))
    graph.dispose()
    expect(backend.stats().tensors).toBe(0)
  })

  test('leaves no tensor where the executor fails, at any call of the forward or the backward', () => {
    using backend = open()
    const step = (failing: Backend) => {
      const graph = TensorGraph.open(failing, variables, true)
      try {
        const { result } = applied(graph, operation, operands)
        result.addGradient(backend.ops, weights as unknown as BackendTensor)
        graph.backward()
      } finally {
        graph.dispose()
      }
    }
    const calls = callsOf(backend, step)
    expect(calls).toBeGreaterThan(0)
    for (let call = 0; call < calls; call++) {
      expect(() => step(failingAt(backend, call)), `call ${call}`).toThrow('out of memory')
      expect(backend.stats().tensors, `after call ${call}`).toBe(0)
    }
  })
})

describe('TensorGraph', () => {
  it('passes the gradient through the bound of a straight-through clip', async () => {
    using backend = open()
    const graph = TensorGraph.open(backend, new Map(), true)
    const x = graph.input(float64([-2, 0.1, 2], [1, 3]))
    const y = graph.clip(x, 0.5, 'straight_through')
    await expectTensor(y.tensor, float64([-0.5, 0.1, 0.5], [1, 3]), 'clip')
    y.give(backend.ops, backend.tensor(float64([1, 2, 3], [1, 3])))
    graph.backward()
    using gradient = x.takeGradient()
    await expectTensor(gradient, float64([1, 2, 3], [1, 3]), 'gradient')
    graph.dispose()
  })

  it('reads kernels of more dimensions as matrices, and their gradients have the given shape', async () => {
    using backend = open()
    const kernel = float64([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2])
    const graph = TensorGraph.open(backend, new Map([['kernel', kernel]]), true)
    const z = graph.linear([graph.input(float64([1, 0, 0, 1], [1, 4]))], 'kernel')
    await expectTensor(z.tensor, float64([1 + 7, 2 + 8], [1, 2]), 'product')
    z.give(backend.ops, backend.tensor(float64([1, 10], [1, 2])))
    graph.backward()
    using gradient = graph.variableGradient('kernel', kernel.shape)
    await expectTensor(gradient, float64([1, 10, 0, 0, 0, 0, 1, 10], [2, 2, 2]), 'kernel gradient')
    graph.dispose()
  })

  it('has zeros as the gradient of a variable that no operation reads', async () => {
    using backend = open()
    const graph = TensorGraph.open(backend, new Map([['unused', float64([1, 2], [2])]]), true)
    graph.backward()
    using gradient = graph.variableGradient('unused', [2])
    await expectTensor(gradient, float64([0, 0], [2]), 'gradient')
    graph.dispose()
  })

  it('masks the steps past the lengths, in the values and in the gradients', async () => {
    using backend = open()
    const graph = TensorGraph.open(backend, new Map(), true)
    const x = graph.input(float64([1, 2, 3, 4, 5, 6], [3, 2, 1]))
    expect(graph.withoutPadding(x, null)).toBe(x)
    const masked = graph.withoutPadding(x, Int32Array.of(1, 3))
    await expectTensor(masked.tensor, float64([1, 2, 0, 4, 0, 6], [3, 2, 1]), 'values')
    masked.give(backend.ops, backend.tensor(float64([1, 2, 3, 4, 5, 6], [3, 2, 1])))
    graph.backward()
    using gradient = x.takeGradient()
    await expectTensor(gradient, float64([1, 2, 0, 4, 0, 6], [3, 2, 1]), 'gradient')
    graph.dispose()
  })

  it('releases all other values in inference, but neither variables nor shared constants', async () => {
    using backend = open()
    const graph = TensorGraph.open(backend, tensorsOf({ kernel: [2, 2] }, 0), false)
    const x = graph.input(float64([1, 2], [1, 2]))
    const step = (value: TensorValue) => graph.activate(graph.linear([value], 'kernel'), 'tanh', 0.5)
    let y = step(x)
    graph.releaseAllBut([y])
    const held = backend.stats().tensors
    for (let k = 0; k < 5; k++) {
      y = step(y)
      graph.releaseAllBut([y])
      expect(backend.stats().tensors).toBe(held)
    }
    await expect(x.tensor.read()).rejects.toThrow()
    expect((await y.tensor.read()).data).toHaveLength(2)
    const taken = graph.taken(y)
    graph.dispose()
    expect(backend.stats().tensors).toBe(1)
    taken.dispose()
  })

  it('names a variable by the scopes of nested inner cells', () => {
    using backend = open()
    const cell = new UGRNNCell(2, { dtype: 'float64' })
    cell.build(2, { seed: 3 })
    const variables = new Map([...cell.variables].map(([name, tensor]) => [`inner/${name}`, tensor]))
    const graph = TensorGraph.open(backend, variables, false)
    const [x, h] = [0.1, 0.2].map((value) => graph.input(float64([value, value], [1, 2])))
    expect(graph.innerStep(cell as never, 'inner', x, h).output.shape).toEqual([1, 2])
    expect(() => graph.innerStep(cell as never, 'other', x, h)).toThrow(/other\//)
    graph.dispose()
    expect(backend.stats().tensors).toBe(0)
  })

  it('refuses an executor of no phased gate', () => {
    using backend = open()
    const variables = tensorsOf({ period: [2], phase: [2], ratio: [2] }, 40)
    const graph = TensorGraph.open(backend, variables, false)
    const time = graph.input(float64([0.1], [1, 1]))
    const names = { period: 'period', phase: 'phase', ratioOn: 'ratio' }
    const refused = coded('ERR_INVALID_OPTION', { value: 'reference' })
    expect(() => graph.timeGate(time, names, 0, true)).toThrow(refused)
    graph.dispose()
    expect(backend.stats().tensors).toBe(0)
  })
})
