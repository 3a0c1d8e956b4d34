import type { BackendTensor } from '@cudnn-rnn/ops'
import { grad, infer, type TapeVariable, type Value } from '@cudnn-rnn/ops/executor'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it, test } from 'vitest'
import { CellRun } from '../../src/cell/cell_run.js'
import type { FloatTensor } from '../../src/cell/float_tensor.js'
import { UGRNNCell } from '../../src/index.js'
import { asMatrix, StepGraph } from '../../src/graph/step_graph.js'
import { expectClose, float64 } from '../cell_checks.js'
import {
  definition,
  GRAPH_OPERATIONS,
  type GraphOperation,
  hostGradients,
  KERNELS,
  tensorsOf,
} from './graph_operations.js'

type Tensors = ReadonlyMap<string, FloatTensor>

/** What `apply` computes on a tape from operands and variables, and its gradients with the given weights of the result. */
async function onTape(apply: GraphOperation['apply'], operands: Tensors, variables: Tensors, weights: FloatTensor) {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const params = Object.fromEntries(
    [...operands, ...variables].map(([name, tensor]) => [name, { name, value: backend.tensor(tensor), backend }]),
  )
  const compute = (t: Parameters<Parameters<typeof infer>[0]>[0], p: Record<string, TapeVariable>): Value => {
    const named = (names: Iterable<string>) => [...names].map((name) => [name, t.value(p[name])] as const)
    const run = new CellRun('float64', t.isTraining, KERNELS)
    const own = new Map(named(variables.keys()).map(([name, value]) => [name, asMatrix(t, value)]))
    const graph = new StepGraph(t, { run, variables: own, number: (value) => t.value(value) })
    return apply(graph, Object.fromEntries(named(operands.keys())))
  }
  const result = await (await infer(compute)(params)).read()
  const made = await grad((t, p: typeof params) => t.sum(t.multiply(compute(t, p), weights)))(params)
  const gradients = new Map<string, FloatTensor>()
  for (const [name, tensor] of Object.entries(made as Record<string, BackendTensor>)) {
    gradients.set(name, (await tensor.read()) as FloatTensor)
    tensor.dispose()
  }
  for (const { value } of Object.values(params)) value.dispose()
  // The result, which was read.
  expect(backend.stats().tensors).toBe(1)
  return { result, gradients }
}

test.each(Object.entries(GRAPH_OPERATIONS))(
  'StepGraph: %s has the values of its definition and the gradients of ProgramGraph',
  async (name, operation) => {
    const operands = tensorsOf(operation.operands, 0)
    const variables = tensorsOf(operation.variables ?? {}, 40)
    const { weights, gradients: expected } = hostGradients(operation, operands, variables)
    const { result, gradients } = await onTape(operation.apply, operands, variables, weights)
    expectClose(result.data, definition(operation, new Map([...operands, ...variables]), result.shape), 1e-13, name)
    for (const [each, { data, shape }] of expected) {
      expect(gradients.get(each)?.shape, each).toEqual(shape)
      expectClose((gradients.get(each) as FloatTensor).data, data, 1e-13, `${name} by ${each}`)
    }
  },
)

describe('StepGraph', () => {
  it('passes the gradient through the bound of a straight-through clip', async () => {
    const x = new Map([['x', float64([-2, 0.1, 2], [1, 3])]])
    const clip: GraphOperation['apply'] = (graph, { x: value }) => graph.clip(value, 0.5, 'straight_through')
    const { result, gradients } = await onTape(clip, x, new Map(), float64([1, 2, 3], [1, 3]))
    expect([...result.data]).toEqual([-0.5, 0.1, 0.5])
    expect([...(gradients.get('x') as FloatTensor).data]).toEqual([1, 2, 3])
  })

  it('passes no gradient to an element at a bound that stops it', async () => {
    const x = new Map([['x', float64([-0.5, 0.1, 0.5], [1, 3])]])
    const clip: GraphOperation['apply'] = (graph, { x: value }) => graph.clip(value, 0.5, 'zero_outside')
    const { gradients } = await onTape(clip, x, new Map(), float64([1, 2, 3], [1, 3]))
    expect([...(gradients.get('x') as FloatTensor).data]).toEqual([0, 2, 0])
  })

  it('reads kernels of more dimensions as matrices, and their gradients have the given shape', async () => {
    const kernel = float64([1, 2, 3, 4, 5, 6, 7, 8], [2, 2, 2])
    const x = new Map([['x', float64([1, 0, 0, 1], [1, 4])]])
    const linear: GraphOperation['apply'] = (graph, { x: value }) => graph.linear([value], 'kernel')
    const { result, gradients } = await onTape(linear, x, new Map([['kernel', kernel]]), float64([1, 10], [1, 2]))
    expect([...result.data]).toEqual([1 + 7, 2 + 8])
    expect(gradients.get('kernel')).toEqual({ data: Float64Array.of(1, 10, 0, 0, 0, 0, 1, 10), shape: kernel.shape })
  })

  it('names a variable by the scopes of nested inner cells', async () => {
    const cell = new UGRNNCell(2, { dtype: 'float64' })
    cell.build(2, { seed: 3 })
    const variables = new Map([...cell.variables].map(([name, tensor]) => [`inner/${name}`, tensor]))
    const operands = new Map(['x', 'h'].map((name) => [name, float64([0.1, 0.2], [1, 2])]))
    const inScope =
      (scope: string): GraphOperation['apply'] =>
      (graph, { x, h }) =>
        graph.innerStep(cell as never, scope, x, h).output
    const { result } = await onTape(inScope('inner'), operands, variables, float64([1, 2], [1, 2]))
    expect(result.shape).toEqual([1, 2])
    await expect(onTape(inScope('other'), operands, variables, float64([1, 2], [1, 2]))).rejects.toThrow(/other\//)
  })
})
