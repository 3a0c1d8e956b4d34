import { concatenate } from '@cudnn-rnn/checkpoint/files'
import { expect, test } from 'vitest'

test('concatenate: joins parts in their order', () => {
  expect(concatenate([Uint8Array.of(1, 2), new Uint8Array(0), Uint8Array.of(3)])).toEqual(Uint8Array.of(1, 2, 3))
  expect(concatenate([])).toHaveLength(0)
})
