import { openBackend } from '@cudnn-rnn/rnn'
import { expect, it } from 'vitest'
import { TensorScope } from '../src/tensor_scope.js'

it('TensorScope disposes its tensors and ignores undefined ones', async () => {
  const backend = await openBackend('reference')
  const scope = new TensorScope()
  const kept = backend.zeros([1])
  scope.own(backend.zeros([2]))
  scope.ownAll({ h: backend.zeros([3]), c: undefined })
  expect(backend.stats().tensors).toBe(3)
  scope.dispose()
  expect(backend.stats().tensors).toBe(1)
  expect(kept.disposed).toBe(false)
})
