import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { createRnnDescriptor, elementCount, type FrameworkLayout } from '../../src/index.js'
import { kerasLayout } from '../../src/frameworks/keras_layout.js'
import { checkFrameworkLayout, checkNamedTensors } from '../../src/frameworks/named_tensors.js'
import type { Tensor } from '../../src/tensor.js'
import { pytorchLayout } from '../../src/frameworks/pytorch_layout.js'

const layout = kerasLayout(createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 2, inputSize: 3 }))

type Groups = Record<string, Tensor>[]

/** Tensors of zeros in the shapes of the layout; each test changes its own. */
function zeros(): Groups {
  return layout.groups.map(({ shapes }) =>
    Object.fromEntries(
      Object.entries(shapes).map(([name, shape]) => {
        return [name, { data: new Float32Array(elementCount(shape)), shape }]
      }),
    ),
  )
}

/** The name of the first tensor of a group whose shape has so many dimensions. */
const nameOf = (group: number, rank: number) =>
  Object.entries(layout.groups[group].shapes).find(([, shape]) => shape.length === rank)?.[0] ?? ''

describe('checkNamedTensors', () => {
  it('takes tensors of the names and shapes of the layout, in both element types', () => {
    expect(() => checkNamedTensors(layout, zeros())).not.toThrow()
    const doubles = zeros().map((group) =>
      Object.fromEntries(
        Object.entries(group).map(([name, { data, shape }]) => [name, { data: Float64Array.from(data), shape }]),
      ),
    )
    expect(() => checkNamedTensors(layout, doubles)).not.toThrow()
  })

  it('takes a group without its bias', () => {
    const without = zeros()
    delete without[0].bias
    expect(() => checkNamedTensors(layout, without)).not.toThrow()
  })

  it('refuses a group with one bias of two', () => {
    const two = pytorchLayout(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 2, inputSize: 3 }))
    const names = Object.keys(two.groups[0].shapes).filter((name) =>
      two.groups[0].biases.some((b) => b.tensor === name),
    )
    expect(names.length).toBeGreaterThan(1)
    const group = Object.fromEntries(
      Object.entries(two.groups[0].shapes).map(([name, shape]) => {
        return [name, { data: new Float32Array(elementCount(shape)), shape }]
      }),
    )
    expect(() => checkNamedTensors(two, [group])).not.toThrow()
    delete group[names[1]]
    const missing = coded('ERR_MISSING_TENSOR', { group: 0, tensor: names[1] })
    expect(() => checkNamedTensors(two, [group])).toThrow(missing)
    delete group[names[0]]
    expect(() => checkNamedTensors(two, [group])).not.toThrow()
  })

  it('refuses each wrong tensor, and names its group', () => {
    const [matrix, bias] = [nameOf(1, 2), nameOf(1, 1)]
    const cases: [code: string, fields: object, change: (groups: Groups) => unknown][] = [
      ['ERR_TENSOR_GROUPS', { expected: 2, actual: 1 }, (groups) => groups.pop()],
      ['ERR_TENSOR_GROUPS', { expected: 2, actual: 3 }, (groups) => groups.push({})],
      ['ERR_MISSING_TENSOR', { group: 1, tensor: matrix }, (groups) => delete groups[1][matrix]],
      ['ERR_UNKNOWN_TENSOR', { group: 0, tensor: 'more' }, ([group]) => Object.assign(group, { more: group[bias] })],
      [
        'ERR_TENSOR_DTYPE',
        { group: 1, tensor: bias, actual: 'Float64Array' },
        ([, group]) => Object.assign(group, { [bias]: { data: new Float64Array(8), shape: [8] } }),
      ],
      [
        'ERR_TENSOR_DTYPE',
        { group: 1, actual: 'Int32Array' },
        ([, group]) => Object.assign(group, { [bias]: { data: new Int32Array(8), shape: [8] } }),
      ],
      ['ERR_TENSOR_DTYPE', { group: 1, tensor: bias }, ([, group]) => Object.assign(group, { [bias]: null })],
      // Transposed, flattened, too short for its shape, without a shape.
      ...[
        { data: new Float32Array(16), shape: [8, 2] },
        { data: new Float32Array(16), shape: [16] },
        { data: new Float32Array(15), shape: [2, 8] },
        { data: new Float32Array(16), shape: undefined },
        { data: new Float32Array(16), shape: '2,8' },
      ].map((tensor): (typeof cases)[number] => [
        'ERR_TENSOR_SHAPE',
        { group: 1, tensor: matrix, expected: [2, 8] },
        ([, group]) => Object.assign(group, { [matrix]: tensor }),
      ]),
    ]
    for (const [code, fields, change] of cases) {
      const groups = zeros()
      change(groups)
      expect(() => checkNamedTensors(layout, groups)).toThrow(coded(code, fields))
    }
    for (const groups of [undefined, null, {}, 'tensors']) {
      expect(() => checkNamedTensors(layout, groups as never)).toThrow(coded('ERR_TENSOR_GROUPS'))
    }
  })

  it('finds names of Object.prototype in neither the tensors nor the layout', () => {
    const groups = zeros()
    groups[0] = { ...groups[0], toString: { data: new Float32Array(1), shape: [1] } }
    expect(() => checkNamedTensors(layout, groups)).toThrow(coded('ERR_UNKNOWN_TENSOR', { tensor: 'toString' }))
  })
})

describe('checkFrameworkLayout', () => {
  const placement = { tensor: 'w', offset: 0, rows: 2, columns: 3, rowStride: 3, columnStride: 1 }
  const of = (changed: Partial<typeof placement>, shape = [2, 3]): FrameworkLayout => ({
    framework: 'pytorch',
    groups: [{ shapes: { w: shape }, weights: [{ ...placement, ...changed }], biases: [] }],
  })

  it.each([
    ['a whole tensor', of({})],
    ['a transposed one', of({ rows: 3, columns: 2, rowStride: 1, columnStride: 3 })],
    ['a column', of({ offset: 2, columns: 1 })],
    ['the last element', of({ offset: 5, rows: 1, columns: 1 })],
    ['no rows, wherever they are', of({ offset: 100, rows: 0 })],
  ])('takes %s', (_, given) => {
    expect(() => checkFrameworkLayout(given)).not.toThrow()
  })

  it.each([
    ['a placement that ends after its tensor', of({ offset: 1 })],
    ['one with too wide rows', of({ rowStride: 4 })],
    ['one in a tensor without a shape', of({ tensor: 'b' })],
    ['one in an empty tensor', of({}, [0, 3])],
    ['a negative offset', of({ offset: -1 })],
    ['a stride of 0', of({ columnStride: 0 })],
    ['a fraction', of({ rows: 1.5 })],
    ['no groups', { framework: 'pytorch' } as never],
    ['nothing', undefined as never],
  ])('refuses %s', (_, given) => {
    expect(() => checkFrameworkLayout(given)).toThrow(coded('ERR_INVALID_OPTION_TYPE', { argument: 'layout' }))
  })
})
