import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Backend } from '@cudnn-rnn/backend'
import { expectAllclose, raggedReplica } from '@cudnn-rnn/conformance'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { Adam, Dataset, fit, makeParallel, type StepReport } from '@cudnn-rnn/train'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'

/** Numbers of float32 sums in another order. */
const TOLERANCE = 1e-6

/** 11 rows in batches of 4: the last of an epoch has 3. */
const data = Dataset.fromArray(Array.from({ length: 11 }, (_, row) => row))
  .shuffle({ bufferSize: 11, seed: 4 })
  .batch(4)
  .repeat(4)

async function train(devices: readonly Backend[]) {
  using parallel = await makeParallel((device) => raggedReplica(device), devices)
  const { backend, variables, batchGradients } = parallel
  using optimizer = new Adam(backend, variables)
  const reports: StepReport[] = []
  const onStep = (report: StepReport) => void reports.push(report)
  await fit({ backend, data, batchGradients, optimizer, learningRate: 0.02, clipNorm: 0.5, maxSteps: 100, onStep })
  const elements = await Promise.all(variables.map(async ({ value }) => [...(await value.read()).data]))
  return { elements: elements.flat(), losses: reports.map(({ loss }) => loss) }
}

async function compare(devices: readonly Backend[]): Promise<void> {
  const before = devices.map((device) => device.stats().tensors)
  const together = await train(devices)
  const alone = await train(devices.slice(0, 1))
  expect(alone.losses).toHaveLength(12)
  expectAllclose('losses', together.losses, alone.losses, TOLERANCE)
  expectAllclose('variables', together.elements, alone.elements, TOLERANCE)
  expect(devices.map((device) => device.stats().tensors)).toEqual(before)
}

it('makeParallel over two cpu executors with half of the cores each trains as one executor', async () => {
  using first = openCpuBackend({ threads: 1 })
  using second = openCpuBackend({ threads: 1 })
  await compare([first, second])
})

const libraries = openCudaEmulator(9)
const cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
afterAll(() => rmSync(cacheDir, { recursive: true }))

describe.skipIf(libraries.problem !== undefined)(`on cudnn (${libraries.problem ?? 'emulated GPUs'})`, () => {
  if (libraries.problem !== undefined) return
  beforeEach(() => libraries.configure('reset; devices=2'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  it.each([false, true])('makeParallel over two GPUs trains as one, with graphs %s', async (graphs) => {
    const open = (device: number) =>
      openCudnnBackend({ device, libraryDir: libraries.folder, cacheDir, algorithm: 'standard', graphs })
    await using first = await open(0)
    await using second = await open(1)
    await compare([first, second])
    expect(libraries.report().calls['cudaGraphLaunch'] ?? 0).toBeGreaterThan(graphs ? 0 : -1)
  })
})
