import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expectAllclose, raggedReplica } from '@cudnn-rnn/conformance'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import { Adam, Dataset, fit, makeParallel, type ParallelOptions, type StepReport } from '@cudnn-rnn/train'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'

/** Numbers of float32 sums in another order. */
const TOLERANCE = 1e-6

/** 11 rows in batches of 4: the last of an epoch has 3. */
const data = Dataset.fromArray(Array.from({ length: 11 }, (_, row) => row))
  .shuffle({ bufferSize: 11, seed: 4 })
  .batch(4)
  .repeat(4)

type Rows = readonly number[]

async function train(devices: readonly Backend[], options: ParallelOptions<Rows> = {}) {
  await using parallel = await makeParallel((device: Backend) => raggedReplica(device), devices, options)
  const { variables, batchGradients } = parallel
  using optimizer = new Adam(variables)
  const reports: StepReport[] = []
  const onStep = (report: StepReport) => void reports.push(report)
  await fit({ data, batchGradients, optimizer, learningRate: 0.02, clipNorm: 0.5, maxSteps: 100, onStep })
  const elements = await Promise.all(variables.map(async ({ value }) => [...(await value.read()).data]))
  return { elements: elements.flat(), losses: reports.map(({ loss }) => loss), reason: parallel.reason }
}

/** Compares training over all devices with training on the first; returns the reason of the engine. */
async function compare(devices: readonly Backend[], options: ParallelOptions<Rows> = {}): Promise<string> {
  const before = devices.map((device) => device.stats().tensors)
  const together = await train(devices, options)
  const alone = await train(devices.slice(0, 1))
  expect(alone.losses).toHaveLength(12)
  expectAllclose('losses', together.losses, alone.losses, TOLERANCE)
  expectAllclose('variables', together.elements, alone.elements, TOLERANCE)
  expect(devices.map((device) => device.stats().tensors)).toEqual(before)
  return together.reason
}

it('makeParallel over two cpu executors with half of the cores each trains as one executor', async () => {
  using first = openCpuBackend({ threads: 1 })
  using second = openCpuBackend({ threads: 1 })
  const reason = await compare([first, second])
  expect(reason).toBe('host: NCCL connects GPUs, and the devices are cpu executors')
  await expect(train([first, second], { engine: 'nccl' })).rejects.toMatchObject({ code: 'ERR_BACKEND_UNAVAILABLE' })
})

const libraries = openCudaEmulator(9)
const cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
afterAll(() => rmSync(cacheDir, { recursive: true }))

describe.skipIf(libraries.problem !== undefined)(`on cudnn (${libraries.problem ?? 'emulated GPUs'})`, () => {
  if (libraries.problem !== undefined) return
  beforeEach(() => libraries.configure('reset; devices=3'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  const open = (device: number, graphs = false) =>
    openCudnnBackend({ device, libraryDir: libraries.folder, cacheDir, algorithm: 'standard', graphs })

  it.each([
    ['nccl', false],
    ['nccl', true],
    ['host', false],
    ['host', true],
  ] as const)('makeParallel over two GPUs, through %s, trains as one, with graphs %s', async (engine, graphs) => {
    await using first = await open(0, graphs)
    await using second = await open(1, graphs)
    const reason = await compare([first, second], { engine: engine === 'nccl' ? 'auto' : engine })
    expect(reason).toMatch(engine === 'nccl' ? /^nccl: NCCL 2\.27\.7 / : /^host: as requested$/)
    const { calls, live } = libraries.report()
    expect(calls['cudaGraphLaunch'] ?? 0).toBeGreaterThan(graphs ? 0 : -1)
    // For each of 12 steps and both devices: loss, 3 gradients; 3 variables.
    expect(calls['ncclAllReduce'] ?? 0).toBe(engine === 'nccl' ? 12 * 2 * 4 : 0)
    expect(calls['ncclBroadcast'] ?? 0).toBe(engine === 'nccl' ? 12 * 2 * 3 : 0)
    expect(live['nccl communicators'] ?? 0).toBe(0)
  })

  it('makeParallel over three GPUs takes a batch with fewer rows than devices', async () => {
    await using first = await open(0)
    await using second = await open(1)
    await using third = await open(2)
    const shortData = Dataset.fromArray([0, 1, 2, 3, 4]).batch(3)
    const lossesOf = async (devices: readonly Backend[]) => {
      await using parallel = await makeParallel((device) => raggedReplica(device), devices)
      const losses: number[] = []
      for await (const rows of shortData) {
        const { loss, gradients } = await parallel.batchGradients(rows)
        for (const tensor of [loss as BackendTensor, ...gradients]) {
          losses.push(...(await tensor.read()).data)
          tensor.dispose()
        }
      }
      return losses
    }
    expectAllclose('loss and gradients', await lossesOf([first, second, third]), await lossesOf([first]), TOLERANCE)
  })

  it('makeParallel states why executors on one GPU pass through the host', async () => {
    await using first = await open(0)
    await using second = await open(0)
    using parallel = await makeParallel((device) => raggedReplica(device), [first, second])
    expect([parallel.engine, parallel.reason]).toEqual([
      'host',
      'host: nccl: it needs one executor on each GPU: the GPUs are 0, 0',
    ])
  })

  it('makeParallel works on after the error of a device, but not after one of NCCL, and leaves no tensors', async () => {
    await using first = await open(0)
    await using second = await open(1)
    const devices = [first, second]
    await using parallel = await makeParallel((device) => raggedReplica(device), devices)
    const before = devices.map((device) => device.stats())
    const kernel = await parallel.variables[1]?.value.read()
    libraries.configure('fault.cudnnRNNForward=3000@2')
    await expect(parallel.batchGradients([0, 1, 2])).rejects.toMatchObject({ code: 'ERR_CUDNN_NOT_SUPPORTED' })
    const { loss, gradients } = await parallel.batchGradients([0, 1, 2])
    for (const tensor of [loss as BackendTensor, ...gradients]) tensor.dispose()
    libraries.configure('fault.ncclAllReduce=2@3')
    for (const statusName of ['unhandled system error', 'ABORTED']) {
      await expect(parallel.batchGradients([0, 1, 2])).rejects.toMatchObject({ code: 'ERR_NCCL', statusName })
    }
    expect(devices.map((device) => device.stats())).toEqual(before)
    expect(await parallel.variables[1]?.value.read()).toEqual(kernel)
  })
})
