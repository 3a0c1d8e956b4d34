import { expectAllclose, type RaggedReplica, raggedReplica } from '@cudnn-rnn/conformance'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { afterEach, describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { Adam, Dataset, fit, makeParallel, type ParallelOptions, type StepReport } from '../../src/index.js'

/** Numbers of float32 sums in another order. */
const TOLERANCE = 1e-6
type Rows = readonly number[]

const opened: ReturnType<typeof openReferenceBackend>[] = []
afterEach(() => {
  for (const backend of opened.splice(0)) backend.dispose()
})

/** Reference executors, which are disposed after the test. */
function openDevices(count: number) {
  const devices = Array.from({ length: count }, () => openReferenceBackend())
  opened.push(...devices)
  return devices
}

/** 23 rows in shuffled batches of 5: the last of an epoch has 3 rows, fewer than four devices. */
const data = Dataset.fromArray(Array.from({ length: 23 }, (_, row) => row))
  .shuffle({ bufferSize: 23, seed: 4 })
  .batch(5)
  .repeat(3)

async function train(count: number, accumulate = 1) {
  using parallel = await makeParallel((device) => raggedReplica(device), openDevices(count))
  const { variables, batchGradients, replicas } = parallel
  using optimizer = new Adam(variables)
  const reports: StepReport[] = []
  const onStep = (report: StepReport) => void reports.push(report)
  const options = { learningRate: 0.02, clipNorm: 0.5, maxSteps: 100, accumulate, onStep }
  await fit({ data, batchGradients, optimizer, ...options })
  const elements = await Promise.all(variables.map(async ({ value }) => [...(await value.read()).data]))
  return { reports, elements: elements.flat(), replicas }
}

describe('makeParallel', () => {
  it.each([
    [2, 1],
    [3, 1],
    [4, 1],
    [2, 3],
  ])(
    'trains over %d devices, %d batches an update, as one device with the whole batches',
    async (count, accumulate) => {
      const alone = await train(1, accumulate)
      const together = await train(count, accumulate)
      expect(alone.reports).toHaveLength(accumulate === 1 ? 15 : 5)
      expectAllclose('variables', together.elements, alone.elements, TOLERANCE)
      for (const name of ['loss', 'gradientNorm'] as const) {
        const of = ({ reports }: typeof alone) => reports.map((report) => report[name])
        expectAllclose(name, of(together), of(alone), TOLERANCE)
      }
    },
  )

  it('leaves no tensors on any device but those of the replicas', async () => {
    const devices = openDevices(3)
    using parallel = await makeParallel((device) => raggedReplica(device), devices)
    const before = devices.map((device) => device.stats())
    const { loss, gradients, weight } = await parallel.batchGradients([3, 8, 1, 13, 4])
    expect(weight).toBe([3, 8, 1, 13, 4].reduce((sum, row) => sum + 1 + ((5 * row) % 6), 0))
    for (const tensor of [loss as { dispose(): void }, ...gradients]) tensor.dispose()
    expect(devices.map((device) => device.stats())).toEqual(before)
    parallel.dispose()
    expect(devices.map((device) => device.stats().tensors)).toEqual([0, 0, 0])
  })

  it('rejects with the error of a device, and disposes the results of the others', async () => {
    const devices = openDevices(3)
    const failing = (device: (typeof devices)[number], rank: number): RaggedReplica => {
      const replica = raggedReplica(device)
      const batchGradients = async (rows: Rows) => {
        if (rank === 1 && rows.includes(7)) throw new Error('no memory on device 1')
        return await replica.batchGradients(rows)
      }
      return { ...replica, [Symbol.dispose]: () => replica[Symbol.dispose](), batchGradients }
    }
    using parallel = await makeParallel((device, { rank }) => failing(device, rank), devices)
    const before = devices.map((device) => device.stats())
    await expect(parallel.batchGradients([1, 7, 2])).rejects.toThrow('no memory on device 1')
    expect(devices.map((device) => device.stats())).toEqual(before)
  })

  it('counts shares by their weights: one of weight 0 may be NaN', async () => {
    const of = (weight: number, value: number) => async (_: Rows) => ({ loss: value, gradients: [] as never[], weight })
    const devices = openDevices(2)
    const without = await makeParallel(
      (_, { rank }) => ({ variables: [], batchGradients: rank === 0 ? of(3, 1) : of(0, Number.NaN) }),
      devices,
    )
    expect(await without.batchGradients([1, 2])).toEqual({ loss: 1, gradients: [], weight: 3 })
  })

  it('splits batches that are not arrays by the function it is given', async () => {
    interface Batch {
      readonly rows: Rows
    }
    const over = async (devices: ReturnType<typeof openDevices>, options: ParallelOptions<Batch>) => {
      const replicaOf = (device: (typeof devices)[number]) => {
        const replica = raggedReplica(device)
        return { ...replica, batchGradients: ({ rows }: Batch) => replica.batchGradients(rows) }
      }
      return await makeParallel(replicaOf, devices, options)
    }
    const split = ({ rows }: Batch, { rank }: { readonly rank: number }) => ({
      rows: rank === 0 ? rows.slice(0, 1) : rows.slice(1),
    })
    const [alone, together] = [await over(openDevices(1), {}), await over(openDevices(2), { split })]
    const elements = async ({ batchGradients }: typeof alone) => {
      const { gradients } = await batchGradients({ rows: [4, 9, 2] })
      const values = await Promise.all(gradients.map(async (gradient) => [...(await gradient.read()).data]))
      return values.flat()
    }
    expectAllclose('gradients', await elements(together), await elements(alone), TOLERANCE)
    const unsplit = await over(openDevices(2), {})
    await expect(unsplit.batchGradients({ rows: [1, 2] })).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  })

  it('refuses devices and replicas that do not fit each other, and disposes the replicas made so far', async () => {
    const devices = openDevices(2)
    const [first] = devices
    const make = (device: (typeof devices)[number]) => raggedReplica(device)
    const refused = (given: readonly unknown[], code: string) =>
      expect((makeParallel as (...given: readonly unknown[]) => Promise<unknown>)(...given)).rejects.toThrow(
        coded(code),
      )
    await refused([make, []], 'ERR_INVALID_OPTION')
    await refused([make, [first, first]], 'ERR_INVALID_OPTION')
    await refused(['model', devices], 'ERR_INVALID_ARGUMENT')
    await refused([make, devices, { splitter: () => [] }], 'ERR_UNKNOWN_OPTION')
    await refused([() => ({ variables: 3 }), devices], 'ERR_INVALID_ARGUMENT')
    await refused([() => raggedReplica(first!), devices], 'ERR_FOREIGN_TENSOR')
    opened[1]?.dispose()
    const others = openDevices(2)
    const wider = (device: (typeof devices)[number], { rank }: { readonly rank: number }) => {
      const replica = raggedReplica(device)
      if (rank === 0) return replica
      const [gru, , bias] = replica.variables
      const kernel = { name: 'kernel', value: device.zeros([8, 1]) }
      return { ...replica, variables: [gru, kernel, bias], [Symbol.dispose]: () => replica[Symbol.dispose]() }
    }
    await refused([wider, others], 'ERR_REPLICAS_DIFFER')
    expect(others[0]!.stats().tensors).toBe(0)
    const doubles = openReferenceBackend({ dtype: 'float64' })
    opened.push(doubles)
    await refused([make, [others[0], doubles]], 'ERR_REPLICAS_DIFFER')
  })

  it('refuses results that are none, and gradients that are too few', async () => {
    const results: unknown[] = [{ loss: 1, gradients: [] }, { gradients: [] }]
    for (const [result, code] of [
      [results[0], 'ERR_GRADIENT_COUNT'],
      [results[1], 'ERR_NOT_A_BATCH_RESULT'],
    ] as const) {
      const replicaOf = (device: ReturnType<typeof openReferenceBackend>) => ({
        ...raggedReplica(device),
        batchGradients: async (_: Rows) => result as never,
      })
      const parallel = await makeParallel(replicaOf, openDevices(2))
      await expect(parallel.batchGradients([1, 2])).rejects.toThrow(coded(code))
    }
  })
})
