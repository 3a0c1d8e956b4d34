import { expect, it, onTestFinished, vi } from 'vitest'
import { YoungOwners } from '../../../src/executor/index.js'

function recording(most: number) {
  const registered: string[] = []
  const young = new YoungOwners<object, string>(most, (_, name) => registered.push(name))
  return { registered, add: (name: string) => young.add({}, name) }
}

const nextTurn = () => new Promise((resolve) => setTimeout(resolve, 0))

it('YoungOwners registers at the next turn of the event loop, each owner once', async () => {
  const { registered, add } = recording(10)
  add('a')
  await Promise.resolve()
  add('b')
  expect(registered).toEqual([])
  await nextTurn()
  expect(registered).toEqual(['a', 'b'])
  add('c')
  await nextTurn()
  expect(registered).toEqual(['a', 'b', 'c'])
})

it('YoungOwners registers all that wait when they are as many as may', async () => {
  const { registered, add } = recording(2)
  for (const name of ['a', 'b', 'c']) add(name)
  expect(registered).toEqual(['a', 'b'])
  await nextTurn()
  expect(registered).toEqual(['a', 'b', 'c'])
})

it('YoungOwners requests one turn of the event loop, however many owners are made in the present one', () => {
  const requested: (() => void)[] = []
  vi.stubGlobal('setImmediate', (run: () => void) => requested.push(run))
  onTestFinished(() => void vi.unstubAllGlobals())
  const { registered, add } = recording(2)
  for (const name of ['a', 'b', 'c', 'd', 'e']) add(name)
  expect(requested).toHaveLength(1)
  requested[0]?.()
  expect(registered).toEqual(['a', 'b', 'c', 'd', 'e'])
  add('f')
  expect(requested).toHaveLength(2)
})
