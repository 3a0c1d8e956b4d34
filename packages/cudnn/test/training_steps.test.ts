import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { characterModel } from './character_model.js'
import { openEmulatedGpu } from './emulated_gpu.js'
import { type CharModelOptions, smallCharModel } from './small_char_model.js'

const PASSES = ['cudnnRNNForward', 'cudnnRNNBackwardData_v8', 'cudnnRNNBackwardWeights_v8']
const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(`CudnnTrainingSteps (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => expect(libraries.report().violations).toEqual([]))

  const calls = (name: string) => libraries.report().calls[name] ?? 0
  const launches = () => calls('cudaGraphLaunch')
  const STEPS = 22
  /** Launches of the one trial whether dropout may be replayed. */
  const trialLaunches = (dropout: number) => (dropout > 0 ? 2 : 0)

  /** 22 steps, of which the last has a smaller batch. */
  const train = async (graphs: boolean, options: CharModelOptions) => {
    await using backend = await open({ algorithm: 'standard', graphs })
    const model = smallCharModel(backend, options)
    for (let step = 0; step < STEPS; step++) {
      await model.step({ batch: step === STEPS - 1 ? 2 : 3, learningRate: 0.05 / (1 + step) })
    }
    const outcome = await model.outcome()
    model.dispose()
    expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
    return outcome
  }
  const known = new Map<string, Promise<number[][]>>()
  /** The same with every call issued separately. */
  const expected = (options: CharModelOptions) => {
    const key = JSON.stringify({ optimizer: 'adam', ...options, sequenceLengths: String(options.sequenceLengths) })
    if (!known.has(key)) known.set(key, train(false, options))
    return known.get(key)!
  }

  for (const dropout of [0, 0.3]) {
    for (const optimizer of ['adam', 'sgd'] as const) {
      it(`a step with dropout ${dropout} and ${optimizer} is one graph, to the very numbers of its calls`, async () => {
        const options = { dropout, optimizer }
        const numbers = await expected(options)
        expect(launches()).toBe(0)
        expect(await train(true, options)).toEqual(numbers)
        // The first step has no state before it; the second and third warm up; the last has another shape.
        expect(launches()).toBe(STEPS - 4 + trialLaunches(dropout))
      })
    }
  }

  it('a replayed step makes no call of cuDNN and no separate kernel launch', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const model = smallCharModel(backend)
    for (let step = 0; step < 6; step++) await model.step()
    const counted = ['cudnnRNNForward', 'cuLaunchKernel', 'cublasGemmEx', 'cudnnRNNBackwardData_v8'].map(calls)
    for (let step = 0; step < 3; step++) await model.step()
    expect(['cudnnRNNForward', 'cuLaunchKernel', 'cublasGemmEx', 'cudnnRNNBackwardData_v8'].map(calls)).toEqual(counted)
    model.dispose()
  })

  it("a character model's step is 17 commands of the device", async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const model = characterModel(backend)
    await model.step()
    await model.count.read()
    const counted = () => ['cuLaunchKernel', 'cublasGemmEx', 'cudaMemsetAsync', ...PASSES].map(calls)
    const before = counted()
    await model.step()
    await model.count.read()
    // Launches: embedding, bias, loss, gradients of bias and table, norm, clip, guard, count, and one Adam of four variables.
    expect(counted().map((value, k) => value - before[k]!)).toEqual([10, 3, 1, 1, 1, 1])
  })

  it('nothing of a step crosses the bus but ids and rates, and the loss and the norm when they are read', async () => {
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const model = smallCharModel(backend)
    for (let step = 0; step < 6; step++) await model.step()
    libraries.configure('reset')
    await model.step({ batch: 3, time: 5 })
    const ids = 3 * 5 * 4
    // The limit of the norm and the seven numbers of Adam, each in two launches for the five variables.
    const numbers = 2 * (1 + 7) * 4
    const { 'host to device': up, 'device to host': down } = libraries.report().copied
    // Ids for the lookup, its gradient and the loss.
    expect({ up, down }).toEqual({ up: 3 * ids + numbers, down: 2 * 4 })
    model.dispose()
  })

  it('a step that reads its loss in the middle is two graphs, to the same numbers', async () => {
    const numbers = await expected({ dropout: 0.3 })
    expect(await train(true, { dropout: 0.3, readsEarly: true })).toEqual(numbers)
    expect(launches()).toBe(2 * (STEPS - 4) + trialLaunches(0.3))
  })

  it('where replays would repeat their masks, the passes that draw them stay calls', async () => {
    libraries.configure('host_dropout=1')
    await using backend = await open({ algorithm: 'standard', graphs: true })
    const model = smallCharModel(backend, { dropout: 0.3 })
    for (let step = 0; step < 8; step++) await model.step({ learningRate: 0 })
    // Two networks, and the trial that found it out: two calls, and a capture.
    expect(calls('cudnnRNNForward')).toBe(2 * 8 + 3)
    // The commands between the forwards are still replayed.
    expect(launches()).toBeGreaterThan(8)
  })

  it('lengths that change have separate signatures, which are replayed when they recur', async () => {
    const sequenceLengths = (step: number) => [[5, 2, 4], [1, 5, 0], null][step % 3]!.slice(0, step === 21 ? 2 : 3)
    const options = { sequenceLengths: (step: number) => (step % 3 === 2 ? null : sequenceLengths(step)) }
    expect(await train(true, options)).toEqual(await expected(options))
    expect(launches()).toBeGreaterThan(0)
  })

  it('refuses a step or updates that are not functions, and scalars that are not an array of scalars', async () => {
    await using backend = await open()
    const { steps } = backend
    const invalid = coded('ERR_INVALID_ARGUMENT')
    await expect(steps.run(undefined as never)).rejects.toThrow(invalid)
    const scalar = backend.zeros([])
    expect(() => steps.whereFinite(undefined as never, () => {})).toThrow(invalid)
    expect(() => steps.whereFinite([scalar], undefined as never)).toThrow(invalid)
    expect(() => steps.whereFinite([null as never], () => {})).toThrow(coded('ERR_NOT_A_TENSOR'))
    expect(() => backend.zeros([2], null as never)).toThrow(coded('ERR_INVALID_OPTION_TYPE'))
  })
})
