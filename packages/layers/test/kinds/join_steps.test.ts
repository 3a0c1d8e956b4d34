import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { apply, functional, input } from '../../src/index.js'
import { joinSteps } from '../../src/kinds/join_steps.js'
import { stepOf } from '../../src/kinds/sequence_pooling.js'

const joined = (backend: Backend) => {
  const [a, b] = [input('a', { features: 1 }), input('b', { features: 1 })]
  return functional(backend, [a, b], { joined: apply(joinSteps({}), a, { others: [b] }) })
}
/** [T,2,1] */
const steps = (...data: number[]) => ({ data: Float64Array.from(data), shape: [data.length / 2, 2, 1] })

it('joins the steps of each row, whose lengths add up', async () => {
  using backend = openReferenceBackend({ dtype: 'float64' })
  using model = joined(backend)
  const [a, b] = [steps(1, 2, 3, 4), steps(5, 6, 7, 8, 9, 10)]
  const whole = await model.predict({ a, b })
  expect([whole.joined!.shape, [...whole.joined!.data]]).toEqual([
    [5, 2, 1],
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
  ])
  const lengths = { a: [1, 2], b: [3, 1] }
  const parts = await model.predict({ a, b }, { sequenceLengths: lengths })
  expect([...parts.joined!.data]).toEqual([1, 2, 5, 4, 7, 6, 9, 0, 0, 0])
  expect(model.graph.outputLengths([Int32Array.of(1, 2), Int32Array.of(3, 1)])).toEqual([Int32Array.of(4, 3)])
  await expect(model.predict({ a, b }, { sequenceLengths: { a: [1, 2] } })).rejects.toThrow(
    coded('ERR_SEQUENCE_LENGTHS'),
  )
})

it('a step that a row has not is refused (ERR_SEQUENCE_LENGTHS)', async () => {
  using backend = openReferenceBackend({ dtype: 'float64' })
  const a = input('a', { features: 1 })
  using model = functional(backend, [a], { step: apply(stepOf({ step: 1 }), a) })
  expect([...(await model.predict({ a: steps(1, 2, 3, 4) })).step!.data]).toEqual([3, 4])
  const short = model.predict({ a: steps(1, 2, 3, 4) }, { sequenceLengths: [2, 1] })
  await expect(short).rejects.toThrow(coded('ERR_SEQUENCE_LENGTHS', { minimum: 2, value: 1 }))
})
