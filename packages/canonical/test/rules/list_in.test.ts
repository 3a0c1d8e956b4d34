import { listIn, madeIn } from '@cudnn-rnn/canonical/rules'
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

test('madeIn: makes the value of a new key, and keeps the one of a known key', () => {
  const made: string[] = []
  const lengths = new Map<string, number>([['known', 0]])
  const lengthOf = (text: string) => {
    return madeIn(lengths, text, () => {
      made.push(text)
      return text.length
    })
  }
  expect([lengthOf('known'), lengthOf('new'), lengthOf('new')]).toEqual([0, 3, 3])
  expect(made).toEqual(['new'])
})
