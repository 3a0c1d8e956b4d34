import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { Variable } from '@cudnn-rnn/models'
import { meanSquaredError, valueAndGrad } from '@cudnn-rnn/train'
import { expect, it } from 'vitest'
import { cudnnGRU, dense, embedding, sequential } from '../src/index.js'

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

it('The variables of a loss need no type: the call types its gradients', async () => {
  using backend = openReferenceBackend()
  const params = { w: new Variable(backend, backend.zeros([2, 1]), 'w') }
  const step = valueAndGrad(async (t, p) => t.mean(t.matmul({ data: Float32Array.of(1, 2), shape: [1, 2] }, p.w)))
  const { gradients } = await step(params)
  expect(await gradients.w.data()).toEqual(Float32Array.of(1, 2))
  // @ts-expect-error no such variable
  expect(gradients.kernel).toBeUndefined()
})

it("Streams take JavaScript's numbers: one step, or a class id; no fraction of one", async () => {
  using backend = openReferenceBackend()
  using network = sequential(backend, [cudnnGRU({ numUnits: 2, inputSize: 2 })], { seed: 1 })
  expect(await network.stream().step([1, 2])).toEqual(await network.stream().step(Float32Array.of(1, 2)))
  const [pool, same] = [network.streamPool().open(), network.streamPool().open()]
  expect(await pool.step([1, 2])).toEqual(await same.step(Float32Array.of(1, 2)))
  using ids = sequential(backend, [embedding({ size: 5, units: 2 })])
  expect(await ids.stream().step([3])).toEqual(await ids.stream().step(Int32Array.of(3)))
  for (const id of [1.5, 2 ** 40]) await expect(ids.stream().step([id])).rejects.toThrow('must be int32')
  await expect(ids.stream().step(['3' as unknown as number])).rejects.toThrow('must be a tensor')
})

it("Names of other libraries' methods say what to write, which exists", async () => {
  using backend = openReferenceBackend()
  using model = sequential(backend, [cudnnGRU({ numUnits: 1, inputSize: 1 })])
  using stream = model.stream()
  await valueAndGrad((t, p) => {
    const owners: Readonly<Record<string, object>> = { model, stream, t }
    const refusals = Object.values(owners).map((owner) => refused(Object.getPrototypeOf(owner)))
    expect(refusals.map(({ length }) => length > 1)).toEqual([true, true, true])
    const written = refusals.flat().flatMap((message) => [...message.matchAll(/\b(model|stream|t)\.(\w+)\(/g)])
    expect(written.filter(([, owner, name]) => !(name in owners[owner]))).toEqual([])
    return t.sum(p)
  })(new Variable(backend, backend.zeros([1]), 'x'))
  const call = (model as unknown as { forward(x: unknown): Promise<unknown> }).forward([[1]])
  await expect(call).rejects.toThrow('Cannot call forward() as a model has no such method: write model.predict')
})

/** The messages of the methods of `prototype` that refuse. */
function refused(prototype: object): string[] {
  return Object.values(Object.getOwnPropertyDescriptors(prototype)).flatMap(({ value, writable }) => {
    if (typeof value !== 'function' || writable) return []
    try {
      value()
    } catch (error) {
      if ((error as { code?: string }).code === 'ERR_UNKNOWN_METHOD') return [(error as Error).message]
    }
    return []
  })
}
