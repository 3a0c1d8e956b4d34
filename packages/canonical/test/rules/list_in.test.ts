import { listIn } from '@cudnn-rnn/canonical/rules'
import { expect, test } from 'vitest'

test('listIn: puts a list under a new key and finds the one of a known key', () => {
  const lists = new Map<string, number[]>()
  for (const [key, item] of [
    ['a', 1],
    ['b', 2],
    ['a', 3],
  ] as const)
    listIn(lists, key).push(item)
  expect([...lists]).toEqual([
    ['a', [1, 3]],
    ['b', [2]],
  ])
})
