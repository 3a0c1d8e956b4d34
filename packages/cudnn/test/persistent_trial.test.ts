import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { encoded } from '@cudnn-rnn/conformance'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { arithmeticOf } from '../src/device/precision.js'
import { AlgorithmTrials } from '../src/rnn/algorithm_choice.js'
import { agrees } from '../src/rnn/persistent_trial.js'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

it.each(['float32', 'float16', 'bfloat16'] as const)(
  '%s: results agree within a part of the largest number, and never with NaN',
  (type) => {
    const arithmetic = arithmeticOf('float32', type)
    const bytes = (...numbers: number[]) => encoded(numbers, type)
    const expected = [bytes(1, -8, 2 ** -20), bytes(0, 0)]
    const withFirst = (...numbers: number[]) => agrees(arithmetic, [bytes(...numbers), expected[1]], expected)
    expect(withFirst(1, -8, 2 ** -20)).toBe(true)
    expect(withFirst(1, -8, 2 ** -15)).toBe(true)
    expect(withFirst(1, -7.5, 2 ** -20)).toBe(false)
    expect(withFirst(1, -8, Number.NaN)).toBe(false)
    expect(withFirst(1, -8, Number.NEGATIVE_INFINITY)).toBe(false)
    expect(agrees(arithmetic, [expected[0], bytes(0, 1)], expected)).toBe(false)
  },
)

describe.skipIf(gpu.problem !== undefined)(
  `the trial of persistent kernels (${gpu.problem ?? 'CUDA emulator'})`,
  () => {
    if (gpu.problem !== undefined) return
    const { libraries, open } = gpu
    let cacheDir: string
    beforeEach(() => {
      // Without clusters: their kernels are launched as all others, and the hardware keeps no block of one out. Few blocks take
      // the emulator less time.
      libraries.configure('reset; capability=8.0; multiprocessors=16')
      cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-trials-'))
    })
    afterEach(() => {
      vi.restoreAllMocks()
      rmSync(cacheDir, { recursive: true })
      expect(libraries.report().violations).toEqual([])
    })
    const notes = () => readdirSync(cacheDir).filter((name) => name.endsWith('.trying'))

    /** Whether a training pass runs the kernels, if their trial says they take no time unless it rules them out. */
    async function areChosen(settings = '', training = true, lengths: readonly number[] | null = null) {
      const time = AlgorithmTrials.prototype.time
      vi.spyOn(AlgorithmTrials.prototype, 'time').mockImplementation(async function (
        this: AlgorithmTrials,
        algorithm,
        pass,
      ) {
        const milliseconds = await time.call(this, algorithm, pass)
        return pass === undefined ? 1 : milliseconds && 0.5
      })
      await using backend = await open({ kernels: 'measured', algorithm: 'standard', graphs: false, cacheDir })
      const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: 64, inputSize: 4 }))
      const given = {
        inputH: null,
        inputC: null,
        params: backend.zeros([rnn.paramsSize]),
        sequenceLengths: lengths && Int32Array.from(lengths),
        training,
      }
      libraries.configure(settings)
      const forward = () => rnn.forward({ input: backend.zeros([4, 2, 4]), ...given })
      await forward()
      const before = libraries.report().calls['cuLaunchCooperativeKernel'] ?? 0
      libraries.configure('missing_block=0; wrong_store=0')
      await (await forward()).output.read()
      return (libraries.report().calls['cuLaunchCooperativeKernel'] ?? 0) > before
    }

    it.each([true, false])(
      'kernels that agree and are faster are chosen, and leave no note: training %s',
      async (training) => {
        expect(await areChosen('', training)).toBe(true)
        expect(notes()).toEqual([])
      },
    )

    it('rows of unequal length agree with cuDNN up to their ends', async () => {
      expect(await areChosen('', true, [4, 0])).toBe(true)
    })

    it.each([
      ['one wrong sum', 'wrong_store=1'],
      ['a block without room', 'missing_block=1'],
      ['a launch that the driver refuses', 'fault.cuLaunchCooperativeKernel=720'],
    ])('%s rules them out, and the session works on', async (_, settings) => {
      expect(await areChosen(settings)).toBe(false)
      expect(notes()).toEqual([])
    })

    it('a trial that ended the device is not repeated', async () => {
      await expect(areChosen('fault.cuLaunchCooperativeKernel=700')).rejects.toMatchObject({ code: 'ERR_DEVICE_LOST' })
      expect(notes()).toHaveLength(1)
      libraries.configure('reset; capability=8.0; multiprocessors=16')
      vi.restoreAllMocks()
      // The other division of the layer is tried.
      await areChosen()
      expect(notes()).toHaveLength(1)
    })

    it('without a folder for notes nothing is tried', async () => {
      const real = cacheDir
      cacheDir = '/dev/null/nowhere'
      expect(await areChosen()).toBe(false)
      cacheDir = real
    })

    it('slower kernels are not chosen', async () => {
      libraries.configure('counted_time=1')
      await using backend = await open({ kernels: 'measured', algorithm: 'standard', cacheDir })
      const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 64, inputSize: 4 }))
      const given = { inputH: null, inputC: null, params: backend.zeros([rnn.paramsSize]), sequenceLengths: null }
      await rnn.forward({ input: backend.zeros([4, 2, 4]), ...given, training: false })
      const before = libraries.report().calls['cuLaunchCooperativeKernel']!
      expect(before).toBeGreaterThan(0)
      await rnn.forward({ input: backend.zeros([4, 2, 4]), ...given, training: false })
      expect(libraries.report().calls['cuLaunchCooperativeKernel']).toBe(before)
    })

    it('CUDNN_RNN_KERNELS names the default, and is checked as the option is', async () => {
      vi.stubEnv('CUDNN_RNN_KERNELS', 'fast')
      await expect(open()).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION', option: 'kernels' })
      vi.unstubAllEnvs()
      await expect(open({ kernels: 'fast' as never })).rejects.toMatchObject({
        code: 'ERR_INVALID_OPTION',
        option: 'kernels',
      })
    })
  },
)
