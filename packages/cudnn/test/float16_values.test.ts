import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { asFloat16, type Float16Tensor, type Float16Values } from '../src/device/float16_values.js'
import { openEmulatedGpu } from './emulated_gpu.js'

const gpu = openEmulatedGpu()
const { Float16Array } = globalThis as { Float16Array?: { from(values: ArrayLike<number>): Float16Values } }
const tensor = (values: readonly number[]): Float16Tensor => ({
  data: Float16Array!.from(values),
  shape: [values.length],
})

afterEach(() => void vi.unstubAllGlobals())

it('asFloat16 names the remedy where the runtime has no Float16Array', () => {
  vi.stubGlobal('Float16Array', undefined)
  expect(() => asFloat16({ data: new Float32Array(1), shape: [1] })).toThrow(
    expect.objectContaining({ name: 'TypeError', code: 'ERR_NO_FLOAT16_ARRAY' }),
  )
})

describe.skipIf(gpu.problem !== undefined || Float16Array === undefined)(
  'Float16Array at the executor (Node.js 24)',
  () => {
    if (gpu.problem !== undefined) return

    it('CudnnBackend.tensor takes halves and widens them exactly, in both types', async () => {
      for (const dtype of ['float32', 'float64'] as const) {
        await using backend = await gpu.open({ dtype })
        const given = backend.tensor(tensor([1.5, -65504, 2 ** -24, Number.NEGATIVE_INFINITY]))
        expect(given.dtype).toBe(dtype)
        expect([...(await given.read()).data]).toEqual([1.5, -65504, 2 ** -24, Number.NEGATIVE_INFINITY])
      }
    })

    it('CudnnTensor.readFloat16 rounds to the nearest, ties to even', async () => {
      await using backend = await gpu.open()
      const values = backend.tensor({ data: Float32Array.of(0.1, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 1e6), shape: [2, 2] })
      const { data, shape } = await values.readFloat16()
      expect(shape).toEqual([2, 2])
      expect(data[Symbol.toStringTag]).toBe('Float16Array')
      // NumPy: np.float16([0.1, 1 + 2**-11, 1 + 3 * 2**-11, 1e6])
      expect(Array.from(data)).toEqual([0.0999755859375, 1, 1.001953125, Number.POSITIVE_INFINITY])
    })

    it('halves go through a network at precision float16 without losing a bit on the way', async () => {
      await using backend = await gpu.open({ precision: 'float16', algorithm: 'standard' })
      const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 4, inputSize: 3 }))
      const halves = Float16Array!.from(Array.from({ length: 2 * 3 }, (_, k) => Math.sin(k + 1)))
      const params = backend.tensor({ data: new Float32Array(rnn.paramsSize).fill(0.25), shape: [rnn.paramsSize] })
      const input = backend.tensor({ data: halves, shape: [2, 1, 3] })
      const given = { input, inputH: null, inputC: null, params, sequenceLengths: null, training: false }
      const { output } = await rnn.forward(given)
      const wide = (await output.read()).data
      const narrow = (await (output as typeof params).readFloat16()).data
      expect(Array.from(narrow)).toEqual(Array.from(wide))
    })
  },
)
