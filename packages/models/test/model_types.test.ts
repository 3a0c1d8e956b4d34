import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { CudnnLSTM } from '../src/index.js'

const SIZES = { numLayers: 1, numUnits: 2, inputSize: 3 }
const input = { data: new Float32Array(6), shape: [2, 1, 3] }

describe('types of a call', () => {
  it('let a boolean decide whether it trains', async () => {
    using backend = openReferenceBackend()
    const lstm = new CudnnLSTM(backend, SIZES)
    const params = lstm.createParams()
    const run = async (isTraining: boolean) => {
      const { tape, output } = await lstm.call(input, null, null, params, { isTraining })
      return lstm.gradients(tape, { output })
    }
    expect((await run(true)).params.shape).toEqual([lstm.paramsSize()])
    await expect(run(false)).rejects.toMatchObject({ code: 'ERR_NO_TAPE' })
    const inference = await lstm.call(input, null, null, params, { isTraining: false })
    // @ts-expect-error: an inference never has a tape.
    await expect(lstm.gradients(inference.tape, {})).rejects.toMatchObject({ code: 'ERR_NO_TAPE' })
  })
})

describe("TensorFlow's positional arguments", () => {
  it('are refused with what to write', async () => {
    using backend = openReferenceBackend()
    const Positional = CudnnLSTM as unknown as new (...args: unknown[]) => CudnnLSTM
    const rule = {
      code: 'ERR_INVALID_OPTION_TYPE',
      message: expect.stringContaining('new CudnnLSTM(backend, { numLayers'),
    }
    expect(() => new Positional(1, 6, 5)).toThrow(expect.objectContaining(rule))
    expect(() => new Positional(backend, 1, 6, 5)).toThrow(expect.objectContaining(rule))
    const lstm = new CudnnLSTM(backend, SIZES)
    await expect(lstm.call(input, null, null, lstm.createParams(), false as never)).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION_TYPE',
      message: expect.stringContaining('{ isTraining: false }'),
    })
  })
})
