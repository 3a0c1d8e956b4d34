import { createRnnDescriptor, type FloatArray } from '@cudnn-rnn/canonical'
import { type HostTensor, KERNEL_OPERATIONS, networkNumbers } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { loadAddon } from '../src/cpu_backend.js'
import { openCpuBackend } from '../src/index.js'
import type { NativeExecutor } from '../src/native_addon.js'

const refused = coded('ERR_TENSOR_TRANSFERRED', { name: 'RangeError' })
const [T, B, I, H] = [3, 2, 4, 5]
const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits: H, inputSize: I })
const { addon } = loadAddon()
const floats = (count: number) => new Float32Array(count)

/** The elements that a tensor computes in, which no caller of the public API sees before read() pins them. */
const detach = (tensor: unknown) => {
  const { buffer } = (tensor as HostTensor).live
  structuredClone(buffer, { transfer: [buffer as ArrayBuffer] })
}

describe('the native addon', () => {
  const open = () => new addon!.NativeExecutor('portable', 1, false, false)
  const executor = open()
  const network = new addon!.NativeNetwork(executor, networkNumbers(descriptor))
  executor.close()
  const size = network.paramsSize()
  const sequence = () => ({
    ...{ input: floats(T * B * I) as FloatArray, h: floats(B * H), c: floats(B * H), params: floats(size) },
    ...{ lengths: Int32Array.of(3, 1), output: floats(T * B * H), hFinal: floats(B * H), cFinal: floats(B * H) },
  })
  const forward = (native: NativeExecutor, job: ReturnType<typeof sequence>) =>
    native.forward(
      ...([network, T, B, job.input, job.h, job.c, job.params, null, job.lengths, 0] as const),
      ...([job.output, job.hFinal, job.cFinal, null, false] as const),
    )

  it.each(['input', 'h', 'c', 'params', 'lengths', 'output', 'hFinal', 'cFinal'] as const)(
    'counts the elements of %s where it takes their address',
    (name) => {
      const native = open()
      const job = sequence()
      const array = job[name]
      for (const wrong of [array.slice(1), array.slice(0, 0)]) {
        expect(() => forward(native, { ...job, [name]: wrong })).toThrow(refused)
      }
      structuredClone(array.buffer, { transfer: [array.buffer as ArrayBuffer] })
      expect(() => forward(native, job)).toThrow(refused)
      native.close()
    },
  )

  it('counts those of every other operation', () => {
    const native = open()
    const stepper = new addon!.NativeStepper(native, network, B, 0)
    const run = (
      name: (typeof KERNEL_OPERATIONS)[number],
      counts: number[],
      operands: FloatArray[],
      numbers: number[],
      integers: Int32Array | null = null,
    ) =>
      native.run({
        ...{ op: KERNEL_OPERATIONS.indexOf(name), operands, results: 1, integers },
        ...{ counts: Float64Array.from(counts), numbers: Float64Array.from(numbers) },
      })
    const linear = (...operands: FloatArray[]) => run('linear', [8, 6, 12, 4, 0], operands, [2, 3, 4])
    const embedding = (id: number) => run('embedding', [2, 8, 1], [floats(2), floats(8)], [2, 4, 1], Int32Array.of(id))
    const calls: readonly (() => unknown)[] = [
      () => linear(floats(8), floats(5), floats(12), floats(4)),
      () => linear(floats(7), floats(6), floats(12), floats(4)),
      () => embedding(4),
      () => embedding(-1),
      () => run('embedding', [2, 8, 2], [floats(2), floats(8)], [2, 4, 2], Int32Array.of(1)),
      () => run('embedding', [2, 8, 1], [floats(2), floats(8)], [2, 4, 1]),
      () => run('addScaled', [4, 4, 0], [floats(4), floats(3)], [1]),
      () => run('addScaled', [3, 3, 0], [floats(0), floats(3)], [1]),
      () => run('addScaled', [4, 4], [floats(4), floats(4)], [1]),
      () => stepper.step(floats(size - 1), floats(B * I), floats(B * H), 1, null),
      () => stepper.step(floats(size), floats(B * I), floats(B * H), 2, null),
      () => stepper.stepRows(floats(size), Int32Array.of(0), 1, floats(I + 1), floats(H), null),
      () => stepper.stepRows(floats(size), Int32Array.of(0), 2, floats(2 * I), floats(2 * H), null),
      () => stepper.moveState(floats(B * H), floats(1), false, null, 0),
      () => stepper.moveState(floats(B * H), null, false, Int32Array.of(0), 1),
      () => network.moveRegion(floats(size), floats(H * I - 1), 0, 0, 0, false, true),
      () => network.moveRegion(floats(0), floats(H * I), 0, 0, 0, false, true),
    ]
    for (const call of calls) expect(call).toThrow(refused)
    native.close()
  })

  it('refuses another element type with a code', () => {
    const native = open()
    const job = { ...sequence(), input: new Float64Array(T * B * I) }
    expect(() => forward(native, job)).toThrow(coded('ERR_DTYPE'))
    native.close()
  })
})

describe('CpuRnn', () => {
  it('refuses a backward whose operands were transferred since the forward', async () => {
    using backend = openCpuBackend({ threads: 1 })
    using rnn = backend.rnn(descriptor)
    const params = backend.zeros([rnn.paramsSize])
    const input = { data: floats(T * B * I), shape: [T, B, I] }
    const none = { inputH: null, inputC: null, sequenceLengths: null }
    const { tape } = await rnn.forward({ input, params, ...none, training: true })
    detach(params)
    await expect(rnn.backward(tape!, {})).rejects.toThrow(refused)
    await expect(rnn.forward({ input, params, ...none, training: true })).rejects.toThrow(refused)
    expect(tape!.state).toBe('open')
  })
})
