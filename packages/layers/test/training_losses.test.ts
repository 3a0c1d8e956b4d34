import * as cells from '@cudnn-rnn/cells'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import recorded from '../../../fixtures/operations/training_losses.json'
import { trainingLosses } from '../../../fixtures/operations/training_losses.mjs'
import * as layers from '../src/index.js'

it('losses of 20 steps are those that were recorded, to the bit on the reference', async () => {
  using backend = openReferenceBackend()
  expect(await trainingLosses(backend, layers, cells)).toEqual(recorded.reference)
  expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
})

it('losses of 20 steps are those that were recorded on the cpu', async () => {
  using backend = openCpuBackend({ threads: 1 })
  const losses = await trainingLosses(backend, layers, cells)
  // To the bit on the instruction set that they were recorded on.
  const own = (recorded.cpu as Partial<Record<string, typeof losses>>)[backend.implementation ?? '']
  if (own !== undefined) expect(losses).toEqual(own)
  for (const [name, expected] of Object.entries(recorded.reference)) {
    expect(losses[name]).toEqual(expected.map((loss) => expect.closeTo(loss, 5)))
  }
})
