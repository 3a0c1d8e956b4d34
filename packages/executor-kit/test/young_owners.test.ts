import { expect, it, vi } from 'vitest'
import { YoungOwners } from '../src/index.js'

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

it('YoungOwners requests one turn of the event loop, however many owners are made in the present one', async () => {
  const requested: (() => void)[] = []
  vi.stubGlobal('setImmediate', (run: () => void) => requested.push(run))
  vi.resetModules()
  const { YoungOwners: Fresh } = await import('../src/young_owners.js')
  vi.unstubAllGlobals()
  const registered: number[] = []
  const young = new Fresh<object, number>(2, (_, number) => registered.push(number))
  for (let n = 0; n < 5; n++) young.add({}, n)
  expect(requested).toHaveLength(1)
  requested[0]?.()
  expect(registered).toEqual([0, 1, 2, 3, 4])
  young.add({}, 5)
  expect(requested).toHaveLength(2)
})
