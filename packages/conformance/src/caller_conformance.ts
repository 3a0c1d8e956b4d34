import type { Backend, TensorLike } from '@cudnn-rnn/ops'
import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { canCollectGarbage, collectGarbage } from './collect_garbage.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { readAll, SMALL_BATCH, SMALL_TIME, type SmallNetwork, smallNetwork } from './small_network.js'

/** Callers that change arrays between check and use, and callers that drop or print objects. */
export function registerCallerConformance({ open, dtype }: ExecutorUnderTest): void {
  const own = dtype === 'float64' ? Float64Array : Float32Array
  const bytes = own.BYTES_PER_ELEMENT
  const elements = SMALL_TIME * SMALL_BATCH * 2
  const shape = [SMALL_TIME, SMALL_BATCH, 2]
  const ones = () => ({ data: new own(elements).fill(1), shape })

  /** Detaches the buffer of a host tensor if the runtime and the executor allow it. */
  const transfer = ({ data }: Tensor) => {
    try {
      structuredClone(data.buffer, { transfer: [data.buffer as ArrayBuffer] })
    } catch (error) {
      if ((error as Error).name !== 'DataCloneError') throw error
    }
  }

  /** Every result of an operation, or the code it was refused with. */
  const outcome = async (run: () => unknown): Promise<string> => {
    try {
      const result = (await run()) as object
      for (const tensor of Object.values(result ?? {})) {
        if (typeof tensor === 'object' && tensor !== null && 'read' in tensor) await tensor.read()
      }
      return 'done'
    } catch (error) {
      return String((error as { code?: unknown }).code)
    }
  }
  const allowed = expect.stringMatching(/^(done|ERR_TENSOR_TRANSFERRED)$/)

  describe('callers', () => {
    test('transfer the result of read(): the tensor keeps its values, or is refused', async () => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode: 'lstm' })
      const variable = backend.tensor({ data: new own(4), shape: [4] })
      const kernel = backend.zeros([2, 2])
      const table = backend.zeros([4, 2])
      const stream = network.rnn.stepper?.(network.params, SMALL_BATCH)
      const { tape } = await network.forward(true)
      for (const tensor of [network.params, variable, kernel, table]) transfer(await tensor.read())
      const { ops } = backend
      const ids = { data: Int32Array.of(0, 3), shape: [2] }
      const gradient = { data: new own(4), shape: [4] }
      const runs: readonly (() => unknown)[] = [
        () => network.forward(true),
        () => network.forward(false),
        () => network.rnn.backward(tape, network.outputGradients),
        () => network.rnn.paramsToCanonical(network.params),
        () => stream?.stepSync({ data: new own(SMALL_BATCH * 2), shape: [SMALL_BATCH, 2] }),
        () => ops.linear({ data: new own(2), shape: [1, 2] }, kernel, { data: new own(2), shape: [2] }),
        () => ops.embedding(table, ids),
        () => ops.update('sgd', variable, [], gradient, { learningRate: 0.1 }),
        () => ops.accumulate(backend.zeros([4]), variable),
        () => ops.assign(variable, gradient),
        () => ops.clipByValue([variable], 1),
        () => ops.clipByGlobalNorm([variable, kernel], 1),
        async () => ({ values: (await variable.read()).data }),
      ]
      for (const run of runs) expect(await outcome(run)).toEqual(allowed)
    })

    test('transfer or shrink an argument before the call', async () => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode: 'gru' })
      const gone = ones()
      transfer(gone)
      await expect(network.forward(true, { input: gone })).rejects.toThrow(coded('ERR_TENSOR_TRANSFERRED'))
      const buffer = resizable(elements * bytes)
      const input = { data: new own(buffer), shape }
      buffer.resize(bytes)
      await expect(network.forward(true, { input })).rejects.toThrow(coded('ERR_SHAPE'))
    })

    test('transfer, shrink or overwrite an argument while the operation is queued', async () => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode: 'lstm' })
      const expected = await readAll(await network.forward(false, { input: ones() }))
      const transferred = ones()
      const results = [network.forward(false, { input: transferred })]
      transfer(transferred)
      const overwritten = ones()
      results.push(network.forward(false, { input: overwritten }))
      overwritten.data.fill(7)
      for (const result of results) expect(await readAll(await result)).toEqual(expected)
    })

    test('transfer the parameters or the result of a stream between two steps', async () => {
      using backend = await open()
      const { rnn, params } = smallNetwork(backend, { cellMode: 'gru', numLayers: 1 })
      if (rnn.stepper === undefined) return
      const host = { data: (await params.read()).data.slice(), shape: params.shape } as Tensor
      const stream = rnn.stepper(host, 1)
      const input = { data: new own(2), shape: [1, 2] }
      const out = { data: new own(3), shape: [1, 3] }
      stream.stepSync(input, out)
      transfer(out)
      expect(() => stream.stepSync(input, out)).toThrow(coded('ERR_TENSOR_TRANSFERRED'))
      transfer(host)
      expect(() => stream.stepSync(input)).toThrow(coded('ERR_TENSOR_TRANSFERRED'))
    })

    test('pass shared memory, a subclass and a length-tracking array: each computes as its values do', async () => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode: 'lstm' }, [5, 0, 3])
      const expected = await readAll(await network.forward(false, { input: ones() }))
      class Odd extends own {
        static get [Symbol.species]() {
          return Array as never
        }
      }
      const buffers: readonly unknown[] = [
        new own(new SharedArrayBuffer(elements * bytes) as never),
        new Odd(elements),
        new own(resizable(elements * bytes)),
      ]
      for (const array of buffers) {
        const input = { data: (array as Float32Array).fill(1), shape } as Tensor
        expect(await readAll(await network.forward(false, { input }))).toEqual(expected)
        using copy = backend.tensor(input)
        expect(Array.from((await copy.read()).data)).toEqual(Array.from(ones().data))
      }
      using ids = backend.tensor({ data: new (class extends Int32Array {})(3), shape: [3] })
      expect([...(await ids.read()).data]).toEqual([0, 0, 0])
    })

    test('change: getters that differ at each read, overridden lengths and iterators', async () => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode: 'lstm' })
      const expected = await readAll(await network.forward(false, { input: ones() }))
      for (let honest = 1; honest < 6; honest++) {
        let reads = 0
        const input = {
          shape,
          get data() {
            return ++reads <= honest ? ones().data : new own(1)
          },
        }
        expect(await readAll(await network.forward(false, { input }))).toEqual(expected)
      }
      const short = Object.defineProperty(new own(1), 'length', { value: elements })
      await expect(network.forward(true, { input: { data: short, shape } })).rejects.toThrow(coded('ERR_SHAPE'))
      const lengths = Object.assign([1e8, -5, 2], { entries: () => [][Symbol.iterator](), every: () => true })
      await expect(network.forward(true, { sequenceLengths: lengths as never })).rejects.toThrow(
        coded('ERR_SEQUENCE_LENGTHS'),
      )
    })

    test('forge tensors: a proxy or a copy of an own tensor belongs to another executor', async () => {
      using backend = await open()
      const network = smallNetwork(backend, { cellMode: 'gru' })
      const real = backend.tensor(ones())
      const forged: readonly TensorLike[] = [
        new Proxy(real, {}),
        Object.create(real),
        { ...real, shape, dtype, layout: undefined, disposed: false, read: () => real.read() } as never,
      ]
      for (const input of forged) {
        await expect(network.forward(true, { input })).rejects.toThrow(coded('ERR_FOREIGN_TENSOR'))
      }
    })

    test('request more memory than there is, and leave everything as it was', async () => {
      // More bytes than a processor addresses: wine reserves a lesser range, with a byte for each of its pages, before it refuses.
      const elements = 2 ** 46
      using backend = await open()
      const refused = expect.stringMatching(/^ERR_OUT_OF_(DEVICE_)?MEMORY$/)
      const network = smallNetwork(backend, { cellMode: 'lstm' })
      const before = backend.stats()
      // An executor with a device allocates behind the call: its tensor exists, and read() rejects.
      const read = async () => {
        using zeros = backend.zeros([elements])
        await zeros.read()
      }
      expect(await outcome(read)).toEqual(refused)
      expect(await outcome(() => network.rnn.stepper?.(network.params, elements))).toEqual(
        network.rnn.stepper ? refused : 'done',
      )
      expect(backend.stats()).toEqual(before)
      expect(await outcome(() => network.forward(true))).toBe('done')
    })

    test('build a network of sizes that no machine has', async () => {
      using backend = await open()
      for (const sizes of [{ numUnits: 2 ** 20 }, { numLayers: 2 ** 29 }, { inputSize: 2 ** 30 }]) {
        expect(() => smallNetwork(backend, { cellMode: 'lstm', ...sizes })).toThrow(coded('ERR_PARAMS_TOO_LARGE'))
      }
    })

    test.skipIf(!canCollectGarbage)(
      'drop tensors, tapes, networks and streams: stats() counts live objects',
      async () => {
        using backend = await open()
        const before = await dropped(backend)
        const alive = () => Object.values(backend.stats()).some((count) => count > 0)
        for (let round = 0; round < 50 && alive(); round++) await collectGarbage()
        expect(before.tapes).toBe(20)
        expect(backend.stats()).toEqual({ tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 })
      },
    )

    test.skipIf(!canCollectGarbage)('drop a network and its parameters: their stream steps on', async () => {
      using backend = await open()
      const [kept, step] = [smallNetwork(backend, { cellMode: 'lstm' }), stepOfDropped(backend)]
      const expected = stepOf(kept)
      expect(await step()).toEqual(await expected())
      for (let round = 0; round < 5; round++) await collectGarbage()
      expect(await step()).toEqual(await expected())
      kept.rnn.dispose()
    })

    test('print: kind, shape, dtype, layout and state, and nothing else', async () => {
      using backend = await open()
      const { rnn, params, forward } = smallNetwork(backend, { cellMode: 'lstm' })
      const { tape } = await forward(true)
      const printed = (value: object) => {
        const inspect = Reflect.get(value, Symbol.for('nodejs.util.inspect.custom')) as () => string
        expect(inspect.call(value)).toBe(String(value))
        expect(JSON.stringify(value).length).toBeLessThan(300)
        return String(value)
      }
      expect(printed(params)).toBe(
        `BackendTensor { shape: [${rnn.paramsSize}], dtype: "${dtype}", layout: "${params.layout}", state: "live" }`,
      )
      expect(printed(tape)).toMatch(/^Tape \{ state: "open", bytes: \d+ \}$/)
      expect(printed(rnn)).toMatch(/^Rnn \{ network: "lstm L2 H3 I2 .*", paramsSize: \d+, state: "live" \}$/)
      expect(printed(backend)).toMatch(
        new RegExp(`^Backend \\{ name: "${backend.name}", dtype: "${dtype}", .*"live" \\}$`),
      )
      params.dispose()
      expect(JSON.parse(JSON.stringify(params))).toMatchObject({ kind: 'BackendTensor', state: 'disposed' })
    })

    test('send a tensor to a worker: the error names the remedy', async () => {
      using backend = await open()
      const errorOf = (value: unknown): string => {
        try {
          structuredClone(value)
        } catch (error) {
          return (error as Error).message
        }
        return 'no error'
      }
      // Firefox's error quotes no value; it is the same for any symbol.
      const quotes = errorOf(Symbol('quoted')).includes('quoted')
      expect(errorOf(backend.zeros([2]))).toMatch(
        quotes ? /tensor of an executor: read\(\) it/ : /unsupported type for structured data/,
      )
    })
  })
}

/** ES2024's resizable buffer, which this project's language level does not have. */
function resizable(byteLength: number): ArrayBuffer & { resize(byteLength: number): void } {
  return Reflect.construct(ArrayBuffer, [byteLength, { maxByteLength: 2 * byteLength }])
}

/**
 * Runs 20 passes, returns the counts while their results are held, and drops them. A separate function, so that its
 * stack holds none of them afterwards.
 */
async function dropped(backend: Backend) {
  const held: object[] = []
  for (let pass = 0; pass < 20; pass++) {
    const network = smallNetwork(backend, { cellMode: 'gru' })
    const result = await network.forward(true)
    await readAll(result)
    held.push(network, result, network.rnn.stepper?.(network.params, 1) ?? {})
  }
  const stats = backend.stats()
  // The collector may run at any time: the results must be reachable until they are counted.
  held.length = 0
  return stats
}

/** The next step of a new stream, which is all that is left of its network. */
function stepOfDropped(backend: Backend): () => Promise<FloatArray> {
  return stepOf(smallNetwork(backend, { cellMode: 'lstm' }))
}

function stepOf({ rnn, params, inputs }: SmallNetwork): () => Promise<FloatArray> {
  const shape = [1, SMALL_BATCH, 2]
  const input = { data: inputs.input.data.slice(0, SMALL_BATCH * 2), shape }
  const stepper = rnn.stepper?.(params, SMALL_BATCH)
  if (stepper !== undefined) return async () => stepper.stepSync(input).data.slice() as FloatArray
  const queued = rnn.queuedStepper?.(params, SMALL_BATCH)
  return async () => ((await queued?.step(input)) ?? input).data as FloatArray
}
