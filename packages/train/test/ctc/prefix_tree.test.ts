import { expect, it } from 'vitest'
import { NO_MASS, PrefixNode } from '../../src/ctc/prefix_tree.js'

/** Counts its calls; the state of a prefix is its labels. */
function countingScorer() {
  const calls: [labels: string, label: number][] = []
  return {
    calls,
    initialState: '',
    extend: (state: string, label: number) => {
      calls.push([state, label])
      return { state: `${state}${label}`, score: -label }
    },
  }
}

function path(...labels: number[]) {
  const scorer = countingScorer()
  let node = new PrefixNode<string>(undefined, -1, '', 0)
  for (const label of labels) node = node.child(label, scorer)
  return { node, scorer }
}

it('makes and scores each longer prefix once', () => {
  const scorer = countingScorer()
  const root = new PrefixNode<string>(undefined, -1, '', 0)
  const child = root.child(3, scorer)
  expect(root.child(3, scorer)).toBe(child)
  const grandchild = child.child(3, scorer)
  expect(grandchild).not.toBe(child)
  expect(scorer.calls).toEqual([
    ['', 3],
    ['3', 3],
  ])
  expect(child).toMatchObject({ parent: root, label: 3, state: '3', score: -3, before: NO_MASS, now: NO_MASS })
  expect(grandchild.state).toBe('33')
})

it.each([
  [[], [], []],
  [[1], [1], [1]],
  [[0, 0], [0, 0], [0]],
  [
    [1, 1, 2, 2, 2, 1],
    [1, 1, 2, 2, 2, 1],
    [1, 2, 1],
  ],
  [
    [5, 4, 3],
    [5, 4, 3],
    [5, 4, 3],
  ],
])('reads the labels of %j from the root on', (labels, all, merged) => {
  const { node } = path(...labels)
  expect(node.labels(false)).toEqual(all)
  expect(node.labels(true)).toEqual(merged)
})

it('is active while it has some mass', () => {
  const { node } = path(1)
  expect(node.isActive).toBe(false)
  node.now = { blank: Number.NEGATIVE_INFINITY, label: -700, total: -700 }
  expect(node.isActive).toBe(true)
})
