import type { Backend } from '@cudnn-rnn/ops'
import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { expectAllclose } from '@cudnn-rnn/conformance'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { arithmeticOf } from '../src/device/precision.js'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()

/** Rounding of one product and a sum of some dozen: a few units in the last place of each type. */
const TOLERANCES = { float32: 2e-6, tf32: 2e-6, float16: 5e-3, bfloat16: 4e-2 } as const

describe.skipIf(gpu.problem !== undefined)(`precisions (${gpu.problem ?? 'CUDA emulator'})`, () => {
  if (gpu.problem !== undefined) return
  const { libraries, open } = gpu

  const run = async (backend: Backend, sequenceLengths: readonly number[] | null) => {
    const shape = { numLayers: 2, numUnits: 6, inputSize: 4, numProj: 3, direction: 'bidirectional' } as const
    const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', ...shape }))
    const fill = (size: number, scale: number) => Float32Array.from({ length: size }, (_, k) => scale * Math.sin(k + 1))
    const params = backend.tensor({ data: fill(rnn.paramsSize, 0.5), shape: [rnn.paramsSize] })
    const input = { data: fill(5 * 3 * 4, 1), shape: [5, 3, 4] }
    const forward = await rnn.forward({ input, inputH: null, inputC: null, params, sequenceLengths, training: true })
    const gradients = await rnn.backward(forward.tape!, { output: forward.output, outputH: forward.outputH })
    const { output, outputH, outputC } = forward
    const results: Record<string, ArrayLike<number>> = {}
    const tensors = { output, outputH, outputC, ...gradients }
    for (const [name, tensor] of Object.entries(tensors)) if (tensor) results[name] = (await tensor.read()).data
    return results
  }

  for (const precision of ['float32', 'tf32', 'float16', 'bfloat16'] as const) {
    it.each([[null], [[5, 0, 2]]])(
      `${precision} is as near to the reference as its mantissa allows, lengths %o`,
      async (lengths) => {
        libraries.configure('reset')
        using reference = openReferenceBackend()
        const expected = await run(reference, lengths)
        await using backend = await open({ precision })
        expect(backend.reason).toContain(precision)
        const results = await run(backend, lengths)
        for (const [name, values] of Object.entries(expected)) {
          expectAllclose(name, results[name], values, TOLERANCES[precision])
        }
        expect(libraries.report().violations).toEqual([])
      },
    )
  }

  it('bfloat16 needs cuDNN 9.13', async () => {
    libraries.configure('reset; version.cudnn=91200')
    await expect(open({ precision: 'bfloat16' })).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining('needs cuDNN 9.13.0 and 9.12.0 is here'),
    })
    libraries.configure('reset')
  })
})

it('arithmeticOf refuses a precision for float64, and unknown ones', () => {
  expect(arithmeticOf('float64', undefined).precision).toBe('float64')
  expect(arithmeticOf('float32', undefined).precision).toBe('float32')
  for (const [dtype, precision] of [
    ['float64', 'tf32'],
    ['float32', 'float8'],
  ] as const) {
    expect(() => arithmeticOf(dtype, precision as never)).toThrow(
      coded('ERR_INVALID_OPTION', { option: 'precision', value: precision }),
    )
  }
})
