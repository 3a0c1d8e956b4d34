import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { meanSquaredError } from '@cudnn-rnn/train'
import { expect, it } from 'vitest'
import { dense, sequential } from '../src/index.js'

type Floats = Tensor<FloatArray>

it('The obvious programs compile without casts', async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [dense({ units: 1, kernelInitializer: 1 })], { inputSize: 2, isSequence: false })

  // A tuple: each element is there, also for a program that compiles with `noUncheckedIndexedAccess`.
  const [first, second]: [Floats, Floats] = await model.predict([[1, 2], Int32Array.of(3, 4)])
  expect([first.data[0], second.data[0]]).toEqual([3, 7])
  const rows: number[][] = [[1, 2]]
  const some: Floats[] = await model.predict(rows)
  expect(some[0].shape).toEqual([1])

  const { output, tape } = await model.call({ data: Float32Array.of(1, 2), shape: [1, 2] })
  const { loss, gradients } = meanSquaredError(await output.read(), { data: Float32Array.of(1), shape: [1, 1] })
  expect(loss).toBe(4)
  const { variables } = await model.gradients(tape!, gradients.predictions)
  expect(variables).toHaveLength(2)

  const ids: Int32Array = (await backend.tensor({ data: Int32Array.of(1), shape: [1] }).read()).data
  expect(ids).toEqual(Int32Array.of(1))
})
