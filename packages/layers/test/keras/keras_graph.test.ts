import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { graphOf } from '../../src/keras/keras_graph.js'

type Sources = Readonly<Record<string, readonly string[]>>

/** A functional model of Keras 3, of layers by the names of their sources. */
function modelOf(graph: Sources, output: string) {
  const history = (name: string) => ({ class_name: '__keras_tensor__', config: { keras_history: [name, 0, 0] } })
  const layers = Object.entries(graph).map(([name, sources]) => ({
    class_name: sources.length === 0 ? 'InputLayer' : sources.length === 1 ? 'Dense' : 'Add',
    name,
    config: { name },
    inbound_nodes: sources.length === 0 ? [] : [{ args: [sources.map(history)], kwargs: {} }],
  }))
  return { class_name: 'Functional', config: { layers, output_layers: [[output, 0, 0]] } }
}

const read = (kerasModel: unknown) => graphOf({ path: 'file', format: 'keras-archive', kerasModel })

/** Calls with the numbers of those that they take. */
const text = (kerasModel: unknown) =>
  read(kerasModel)
    .calls.map(({ layer, from }) => `${layer.config['name']}(${from.map(([call]) => call)})`)
    .join(' ')

describe('graphOf', () => {
  it.each<[string, string, Sources]>([
    ['x() a(0) b(1)', 'b', { x: [], a: ['x'], b: ['a'] }],
    ['x() a(0) b(0) c(2) j(1,3)', 'j', { x: [], a: ['x'], b: ['x'], c: ['b'], j: ['a', 'c'] }],
    // A branch within a branch, in any order of the layers.
    ['x() a(0) k(1,0) j(0,2)', 'j', { j: ['x', 'k'], k: ['a', 'x'], a: ['x'], x: [] }],
    ['x() z() j(0,1)', 'j', { x: [], z: [], j: ['x', 'z'] }],
  ])('%s', (expected, output, graph) => {
    expect(text(modelOf(graph, output))).toBe(expected)
  })

  it('reads a Sequential as a graph, whose input has the shape of a layer', () => {
    const named = (name: string, config = {}) => ({ class_name: 'Dense', config: { name, ...config } })
    const layers = [named('a', { batch_input_shape: [null, 3] }), named('b')]
    const model = { class_name: 'Sequential', config: { layers } }
    expect(text(model)).toBe('undefined() a(0) b(1)')
    expect(read(model).calls[0]?.layer).toMatchObject({
      className: 'InputLayer',
      config: { batch_shape: [null, 3] },
    })
  })

  it.each<[string, Sources]>([
    ['a cycle', { x: [], a: ['x', 'b'], b: ['a'], j: ['b'] }],
    ['a layer that takes itself', { x: [], j: ['j'] }],
    ['a layer that leads nowhere', { x: [], a: ['x'], j: ['x'] }],
    ['a source that does not exist', { x: [], j: ['y'] }],
    ['an output that does not exist', { x: [], a: ['x'] }],
  ])('refuses %s', (_, graph) => {
    expect(() => read(modelOf(graph, 'j'))).toThrow(coded('ERR_NOT_A_MODEL'))
  })

  it('reads branches that share branches, 30 deep', () => {
    // Both inputs of each layer are both layers before it.
    const graph: Record<string, readonly string[]> = { x: [], a0: ['x'], b0: ['x'] }
    for (let k = 1; k < 30; k++) for (const side of 'ab') graph[`${side}${k}`] = [`a${k - 1}`, `b${k - 1}`]
    graph['j'] = ['a29', 'b29']
    expect(read(modelOf(graph, 'j')).calls).toHaveLength(62)
  })

  it('calls the layers of a model within it, with the names of both', () => {
    const inner = { ...modelOf({ x: [], a: ['x'], j: ['a', 'x'] }, 'j'), name: 'b' }
    const { config } = modelOf({ x: [], b: ['x'], c: ['b'] }, 'c')
    const layers = config.layers.map((each) => {
      return each.name === 'b' ? { ...each, ...inner, config: { ...inner.config, name: 'b' } } : each
    })
    expect(text({ class_name: 'Functional', config: { ...config, layers } })).toBe('x() b/a(0) b/j(1,0) c(2)')
  })

  it.each([70, 20])('refuses models that are %d deep and call each other', (depth) => {
    let inner: object = { class_name: 'Sequential', config: { name: 'm', layers: [] } }
    const ref = (name: string, call: number) => ({
      class_name: '__keras_tensor__',
      config: { keras_history: [name, call, 0] },
    })
    for (let k = 0; k < depth; k++) {
      const calls = [ref('x', 0), ref('m', 0)].map((source) => ({ args: [source], kwargs: {} }))
      const layers = [
        { class_name: 'InputLayer', name: 'x', config: { name: 'x' }, inbound_nodes: [] },
        { ...inner, name: 'm', inbound_nodes: calls },
      ]
      inner = { class_name: 'Functional', config: { name: 'm', layers, output_layers: [['m', 1, 0]] } }
    }
    expect(() => read(inner)).toThrow(coded('ERR_NOT_A_MODEL'))
  })
})
