import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { encodeKerasArchive, encodeOnnxModel } from '../src/index.js'

const float32 = (...shape: number[]) => ({ data: new Float32Array(2), shape })

describe('encodeKerasArchive', () => {
  it('refuses descriptions that are not JSON, and variables that are not tensors at paths', async () => {
    const variables = (path: string, tensor: unknown) => new Map([[path, tensor as ReturnType<typeof float32>]])
    const refused = (model: unknown, given: unknown) =>
      encodeKerasArchive(model as object, given as Map<string, never>).catch((error: unknown) => error)
    expect(await refused(undefined, new Map())).toEqual(coded('ERR_INVALID_ARGUMENT', { argument: 'model' }))
    expect(await refused({ units: 1n }, new Map())).toEqual(coded('ERR_INVALID_ARGUMENT', { argument: 'model' }))
    for (const given of [undefined, {}, 'text', variables('', float32(2)), variables('a//b', float32(2))])
      expect(await refused({}, given)).toEqual(coded('ERR_INVALID_ARGUMENT', { argument: 'variables' }))
    for (const tensor of [null, float32(3), { data: [1, 2], shape: [2] }, { data: new Float32Array(2) }])
      expect(await refused({}, variables('a', tensor))).toEqual(
        coded('ERR_INVALID_ARGUMENT', { argument: 'variables' }),
      )
    expect(await refused({}, variables('a', float32(2)))).toBeInstanceOf(Uint8Array)
  })
})

describe('encodeOnnxModel', () => {
  const value = { name: 'x', elementType: 'float32', shape: ['T', 2] }
  const node = { opType: 'Softmax', name: 'n', inputs: ['x'], outputs: ['y'], attributes: { axis: -1 } }
  const graph = { name: 'g', nodes: [node], initializers: { w: float32(2), axes: [0] }, inputs: [value], outputs: [] }

  it('refuses graphs and versions of another kind, and names the place', () => {
    const encode = (given: unknown, irVersion: unknown = 8, opset: unknown = 17) =>
      encodeOnnxModel(given as Parameters<typeof encodeOnnxModel>[0], irVersion as number, opset as number)
    expect(encode(graph)).toBeInstanceOf(Uint8Array)
    expect(() => encode(undefined)).toThrow(coded('ERR_INVALID_ARGUMENT', { argument: 'graph' }))
    expect(() => encode({ ...graph, nodes: 3 })).toThrow(coded('ERR_INVALID_ARGUMENT', { argument: 'graph.nodes' }))
    const nodes = [{ ...node, attributes: { axis: 0.5 } }]
    expect(() => encode({ ...graph, nodes })).toThrow(
      coded('ERR_INVALID_OPTION', { argument: 'graph.nodes[0].attributes.axis' }),
    )
    const initializers = { w: float32(3) }
    expect(() => encode({ ...graph, initializers })).toThrow(
      coded('ERR_INVALID_ARGUMENT', { argument: 'graph.initializers.w' }),
    )
    expect(() => encode(graph, 'nonsense')).toThrow(coded('ERR_INVALID_ARGUMENT', { argument: 'irVersion' }))
    expect(() => encode(graph, 8, 0.5)).toThrow(coded('ERR_INVALID_OPTION', { argument: 'opset' }))
  })
})
