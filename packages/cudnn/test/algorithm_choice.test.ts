import { createRnnDescriptor, elementCount, type RnnDescriptor } from '@cudnn-rnn/canonical'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type CommandFields, CommandList } from '../src/device/command_list.js'
import { arithmeticOf } from '../src/device/precision.js'
import type { CudnnBackendOptions } from '../src/index.js'
import { measuredAlgorithms } from '../src/rnn/network_descriptors.js'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

it.each([
  [{ numUnits: 64 }, true],
  [{ numUnits: 48 }, false],
  [{ numUnits: 64, numLayers: 2 }, false],
  [{ numUnits: 64, direction: 'bidirectional' }, false],
] as const)('persist_static is measured where other frameworks run it too: %o, %s', (shape, isMeasured) => {
  const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, inputSize: 4, ...shape })
  const arithmetic = arithmeticOf('float32', undefined)
  expect(measuredAlgorithms(descriptor, arithmetic, false).includes('persist_static')).toBe(isMeasured)
})

describe.skipIf(gpu.problem !== undefined)(`the choice of an algorithm (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => {
    vi.restoreAllMocks()
    expect(libraries.report().violations).toEqual([])
  })

  const network = (dropout = 0) =>
    createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 8, inputSize: 4, dropout, seed: 3 })

  /** Output and parameter gradient of two training steps, batch by batch. */
  const trained = async (
    options: CudnnBackendOptions,
    descriptor: RnnDescriptor,
    batches: readonly number[] = [3, 3],
  ) => {
    await using backend = await open(options)
    const rnn = backend.rnn(descriptor)
    const filled = (shape: readonly number[]) => {
      const count = elementCount(shape)
      return backend.tensor({ data: Float32Array.from({ length: count }, (_, k) => Math.sin(k) / 2), shape })
    }
    const params = filled([rnn.paramsSize])
    const values: number[][] = []
    for (const batch of batches) {
      const input = filled([5, batch, 4])
      const given = { input, inputH: null, inputC: null, params, sequenceLengths: null, training: true }
      const { output, tape } = await rnn.forward(given)
      const gradients = await rnn.backward(tape!, { output })
      for (const tensor of [output, gradients.params]) values.push(Array.from((await tensor.read()).data))
    }
    return values
  }

  for (const stage of ['forward', 'backward', 'dropout'] as const) {
    for (const algorithm of ['persist_static', 'persist_static_small_h', 'persist_dynamic', 'measured'] as const) {
      for (const staleErrors of [0, 1]) {
        const staleness = staleErrors === 1 ? ', which leaves an error behind' : ''
        it(`${algorithm}: standard takes its place if it is refused at the ${stage}${staleness}`, async () => {
          const descriptor = network(stage === 'dropout' ? 0.4 : 0)
          const expected = await trained({ algorithm: 'standard' }, descriptor)
          libraries.configure(`persist_refuses=${stage}; stale_errors=${staleErrors}`)
          expect(await trained({ algorithm }, descriptor)).toEqual(expected)
        })
      }
    }
  }

  it('a trial leaves the dropout generator as it was', async () => {
    const expected = await trained({ algorithm: 'standard' }, network(0.4))
    expect(await trained({ algorithm: 'persist_static' }, network(0.4))).toEqual(expected)
    expect(await trained({ algorithm: 'measured' }, network(0.4))).toEqual(expected)
  })

  it('persist_dynamic has a descriptor for each batch size, which is built once', async () => {
    const batches = [3, 2, 3, 2]
    const expected = await trained({ algorithm: 'standard' }, network(), batches)
    libraries.configure('reset')
    expect(await trained({ algorithm: 'persist_dynamic' }, network(), batches)).toEqual(expected)
    // Each batch size: the trial's descriptor and the plan's.
    expect(libraries.report().calls['cudnnBuildRNNDynamic']).toBe(4)
  })

  it.each([
    [true, 1],
    ['measured', 1],
    [false, 0],
  ] as const)('algorithms are timed as graphs where graphs are %s', async (graphs, least) => {
    await using backend = await open({ algorithm: 'measured', graphs })
    const rnn = backend.rnn(network())
    const params = backend.zeros([rnn.paramsSize])
    const given = { inputH: null, inputC: null, params, sequenceLengths: null, training: false }
    await rnn.forward({ input: backend.zeros([5, 3, 4]), ...given })
    expect(Math.min(1, libraries.report().calls['cudaGraphLaunch'] ?? 0)).toBe(least)
  })

  it.each([
    [8900, true],
    [8901, false],
  ] as const)('lengths are given on the device before cuDNN 8.9.1 only: version %i', async (version, isGiven) => {
    libraries.configure(`version.cudnn=${version}`)
    const added = vi.spyOn(CommandList.prototype, 'add')
    await using backend = await open({ algorithm: 'standard' })
    const rnn = backend.rnn(network())
    const given = {
      input: backend.zeros([5, 2, 4]),
      inputH: null,
      inputC: null,
      params: backend.zeros([rnn.paramsSize]),
    }
    await rnn.forward({ ...given, sequenceLengths: Int32Array.of(5, 2), training: false })
    const passes = added.mock.calls.filter(([name]) => name === 'rnnForward')
    const lengths = passes.map(([, fields]) => (fields as CommandFields<'rnnForward'>).devSeqLengths !== undefined)
    expect(new Set(lengths)).toEqual(new Set([isGiven]))
  })

  it('padded I/O is on for rows of unequal length only', async () => {
    const added = vi.spyOn(CommandList.prototype, 'add')
    const made = () => added.mock.calls.filter(([name]) => name === 'setRnnDescriptor')
    const flags = () => made().map(([, fields]) => (fields as CommandFields<'setRnnDescriptor'>).auxFlags)
    await using backend = await open({ algorithm: 'standard' })
    const rnn = backend.rnn(network())
    const params = backend.zeros([rnn.paramsSize])
    const given = { input: backend.zeros([5, 2, 4]), inputH: null, inputC: null, params, training: false }
    await rnn.forward({ ...given, sequenceLengths: null })
    expect(flags()).toEqual([0])
    await rnn.forward({ ...given, sequenceLengths: Int32Array.of(5, 2) })
    expect(new Set(flags().slice(1))).toEqual(new Set([1]))
  })
})
