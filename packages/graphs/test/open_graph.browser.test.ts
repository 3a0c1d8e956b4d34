/// <reference types="vite/client" />
import { encodeOnnxModel } from '@cudnn-rnn/interop'
import { describe, expect, it } from 'vitest'
import { type GraphTensor, type OnnxRuntime, openGraph } from '../src/index.js'

interface WebRuntime extends OnnxRuntime {
  readonly env: { readonly wasm: { numThreads: number; wasmPaths: string } }
}

/** onnxruntime-web, which the benchmark installs. */
const FOLDER = '/apps/bench/baselines/node_modules/onnxruntime-web/dist/'
const found = import.meta.glob('../../../apps/bench/baselines/node_modules/onnxruntime-web/dist/ort.wasm.min.mjs')
const [load] = Object.values(found)

const [STEPS, INPUTS, UNITS] = [6, 3, 4]
const wave = (...shape: number[]) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => Math.sin(1.7 * k + shape.length)),
  shape,
})

/** A GRU that starts from zeros in each run, over any number of rows. */
const bytes = encodeOnnxModel(
  {
    name: 'small',
    nodes: [
      {
        ...{ opType: 'GRU', name: 'gru', inputs: ['x', 'W', 'R'], outputs: ['Y'] },
        attributes: { hidden_size: UNITS, direction: 'forward', linear_before_reset: 1 },
      },
    ],
    inputs: [{ name: 'x', elementType: 'float32', shape: [1, 'batch', INPUTS] }],
    outputs: [{ name: 'Y', elementType: 'float32', shape: [1, 1, 'batch', UNITS] }],
    initializers: { W: wave(1, 3 * UNITS, INPUTS), R: wave(1, 3 * UNITS, UNITS) },
  },
  8,
  17,
)

describe.skipIf(load === undefined)('a graph on onnxruntime-web in a page', () => {
  it('streams carry their states, alone and in a pool, and a failed call leaves them', async () => {
    const ort = (await load?.()) as WebRuntime
    Object.assign(ort.env.wasm, { numThreads: 1, wasmPaths: FOLDER })
    using graph = await openGraph(bytes, { ort })
    expect(graph.states.map(({ found }) => found)).toEqual(['exposed'])
    const x = wave(STEPS, 1, INPUTS)
    const step = (t: number) => ({ data: x.data.slice(t * INPUTS, (t + 1) * INPUTS), shape: [1, 1, INPUTS] })
    using stream = graph.stream()
    using pool = await graph.streamPool({ maxStreams: 3 })
    const pooled = [pool.open(), pool.open()]
    for (let t = 0; t < STEPS; t++) {
      const results = await Promise.all([stream, ...pooled].map((each) => each.run({ x: step(t) })))
      const [alone = [], ...together] = results.map(({ Y }) => Array.from((Y as GraphTensor).data as Float32Array))
      for (const numbers of together) expect(numbers).toEqual(alone.map((value) => expect.closeTo(value, 6)))
      await expect(stream.run({ x: wave(1, 1, INPUTS + 1) })).rejects.toMatchObject({ code: 'ERR_GRAPH_INPUT' })
    }
    // Without its states the last step has other numbers.
    const { Y } = await graph.run({ x: step(STEPS - 1) })
    const saved = await stream.state()
    expect(Object.values(saved)[0]?.data).not.toEqual(Y?.data)
  })
})
