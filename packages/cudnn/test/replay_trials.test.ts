import { createRnnDescriptor, elementCount } from '@cudnn-rnn/canonical'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'
import { smallCharModel } from './small_char_model.js'

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(
  `passes that are replayed only after a trial (${gpu.problem ?? 'CUDA emulator'})`,
  () => {
    if (gpu.problem !== undefined) return
    const { libraries, open } = gpu
    beforeEach(() => libraries.configure('reset'))
    afterEach(() => expect(libraries.report().violations).toEqual([]))

    const launches = () => libraries.report().calls['cudaGraphLaunch'] ?? 0
    const LAUNCHES_OF_TRIAL = 1
    const STEPS = 6

    /** Outputs of passes that alternate between two sets of lengths. */
    const ragged = async (graphs: boolean) => {
      await using backend = await open({ algorithm: 'standard', graphs })
      const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 6, inputSize: 4 }))
      const filled = (shape: readonly number[]) => {
        const count = elementCount(shape)
        return backend.tensor({ data: Float32Array.from({ length: count }, (_, k) => Math.sin(k + 1)), shape })
      }
      const params = filled([rnn.paramsSize])
      const given = { input: filled([5, 3, 4]), inputH: null, inputC: null, params, training: false }
      const values: number[][] = []
      for (let pass = 0; pass < 10; pass++) {
        const sequenceLengths = Int32Array.from(pass % 2 === 0 ? [5, 3, 1] : [2, 5, 4])
        const { output, outputH } = await rnn.forward({ ...given, sequenceLengths })
        for (const tensor of [output, outputH]) values.push(Array.from((await tensor.read()).data))
      }
      return values
    }

    it('passes over rows of unequal length are replayed where a replay keeps its lengths', async () => {
      const expected = await ragged(false)
      expect(await ragged(true)).toEqual(expected)
      // The five passes of each: the first lengths are three times calls, the first of which made the plan, the others twice.
      expect(launches()).toBe(LAUNCHES_OF_TRIAL + 2 + 3)
    })

    it('they run as calls where lengths are staged on the host, and are right', async () => {
      libraries.configure('staged_lengths=1')
      const expected = await ragged(false)
      expect(await ragged(true)).toEqual(expected)
      expect(launches()).toBe(LAUNCHES_OF_TRIAL)
    })

    it.each(['host_dropout', 'frozen_masks'])(
      'dropout runs as calls where a replay repeats its masks: %s',
      async (setting) => {
        const losses = async (graphs: boolean) => {
          libraries.configure(`reset; ${setting}=1`)
          await using backend = await open({ algorithm: 'standard', graphs })
          const model = smallCharModel(backend, { dropout: 0.5 })
          for (let step = 0; step < STEPS; step++) await model.step({ learningRate: 0 })
          model.dispose()
          return new Set(model.losses.filter((_, k) => k % 2 === 0)).size
        }
        // A repeated mask would repeat the loss of another step.
        expect(await losses(false)).toBe(await losses(true))
        // Two networks, and the trial: two calls and a capture.
        expect(libraries.report().calls['cudnnRNNForward']).toBe(2 * STEPS + 3)
      },
    )

    it('new lengths of a known shape do not query the device', async () => {
      await using backend = await open({ algorithm: 'standard' })
      const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 6, inputSize: 4 }))
      const params = backend.zeros([rnn.paramsSize])
      const given = { input: backend.zeros([5, 3, 4]), inputH: null, inputC: null, params, training: true }
      const forward = async (lengths: readonly number[]) => {
        const { tape } = await rnn.forward({ ...given, sequenceLengths: Int32Array.from(lengths) })
        tape!.dispose()
      }
      await forward([5, 3, 1])
      const asked = () => libraries.report().calls['cudnnGetRNNTempSpaceSizes']
      const before = asked()
      await forward([1, 2, 3])
      await forward([4, 4, 4])
      expect(asked()).toBe(before)
    })
  },
)
