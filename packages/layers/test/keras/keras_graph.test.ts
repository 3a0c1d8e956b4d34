import { describe, expect, it } from 'vitest'
import { chainOfNodes, type FileLayer, type GraphNode } from '../../src/keras/keras_graph.js'

/** Nodes by the names of their sources. */
const nodesOf = (graph: Readonly<Record<string, readonly string[] | null>>): GraphNode[] =>
  Object.entries(graph).map(([name, sources]) => ({
    name,
    layer: { className: name, config: {}, place: name },
    sources,
  }))

const chain = (graph: Parameters<typeof nodesOf>[0], output: string) =>
  chainOfNodes(nodesOf(graph), output, (rule) => new RangeError(rule))
    .map(text)
    .join(' ')

function text({ className, branches }: FileLayer): string {
  const parts = branches?.map((branch) => `[${branch.map(text).join(' ')}]`)
  return parts === undefined ? className : `${className}(${parts.join('')})`
}

describe('chainOfNodes', () => {
  it.each([
    ['a b', 'b', { x: [], a: ['x'], b: ['a'] }],
    ['a b([][c])', 'b', { x: [], a: ['x'], c: ['a'], b: ['a', 'c'] }],
    ['j([a][b c]) d', 'd', { x: [], a: ['x'], b: ['x'], c: ['b'], j: ['a', 'c'], d: ['j'] }],
    // A branch within a branch, in any order of the nodes.
    ['j([][k([a][])])', 'j', { j: ['x', 'k'], k: ['a', 'x'], a: ['x'], x: [] }],
    ['s j([][a]) e', 'e', { x: [], s: ['x'], a: ['s'], j: ['s', 'a'], e: ['j'] }],
  ])('%s', (expected, output, graph) => {
    expect(chain(graph, output)).toBe(expected)
  })

  it.each([
    ['two inputs', { x: [], z: [], j: ['x', 'z'] }],
    ['a cycle', { x: [], a: ['x', 'b'], b: ['a'], j: ['b'] }],
    ['a layer that takes itself', { x: [], j: ['j'] }],
    ['a layer that leads nowhere', { x: [], a: ['x'], j: ['x'] }],
    ['something else than a layer', { x: [], j: null }],
    ['a source that does not exist', { x: [], j: ['y'] }],
    ['an output that does not exist', { x: [], a: ['x'] }],
  ])('refuses %s', (_, graph) => {
    expect(() => chain(graph, 'j')).toThrow(RangeError)
  })

  it('refuses branches that share branches before their copies fill the memory', () => {
    // Both inputs of each layer are both layers before it, in two columns.
    const graph: Record<string, readonly string[]> = { x: [], a0: ['x'], b0: ['x'] }
    for (let k = 1; k < 30; k++) for (const side of 'ab') graph[`${side}${k}`] = [`a${k - 1}`, `b${k - 1}`]
    graph['j'] = ['a29', 'b29']
    expect(() => chain(graph, 'j')).toThrow(RangeError)
  })

  it('follows 20,000 layers', () => {
    const graph: Record<string, readonly string[]> = { x: [] }
    for (let k = 0; k < 20_000; k++) graph[`a${k}`] = [k === 0 ? 'x' : `a${k - 1}`]
    expect(chain(graph, 'a19999').length).toBeGreaterThan(100_000)
  })
})
