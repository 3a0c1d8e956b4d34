import { expect, it } from 'vitest'
import { type GraphTensor, openGraph } from '../src/index.js'
import { describeWithGraphs, ort } from './onnxruntime.js'
import { difference } from './reference_numbers.js'
import { modelPath } from '../../../scripts/testing/trained_models.mjs'

/** Batches of other sizes sum in another order. */
const TOLERANCE = 1e-5
const SILERO = modelPath('1_silero_vad_v6.2/silero_vad_16k_op15.onnx')
const fixed = { sr: 16000, sequence: 576 }

const numbers = (tensor: GraphTensor | undefined) => tensor?.data as Float32Array

function frame(caller: number, step: number) {
  return {
    data: Float32Array.from({ length: 576 }, (_, k) => Math.sin((k + 576 * step) / (3 + caller)) * Math.cos(k + step)),
    shape: [1, 576],
  }
}

describeWithGraphs('many rows of a graph', () => {
  it('a pool computes for each of its streams the numbers of a single stream, in any order of arrival', async () => {
    using graph = await openGraph(SILERO, { ort, fixed })
    using pool = await graph.streamPool({ maxStreams: 8, maxBatch: 3 })
    const callers = [0, 1, 2, 3, 4].map((caller) => ({ caller, own: graph.stream(), pooled: pool.open() }))
    for (let step = 0; step < 6; step++) {
      const arriving = callers.filter(({ caller }) => (caller + step) % 3 !== 0)
      const results = await Promise.all(
        arriving.map(({ caller, pooled }) => pooled.run({ input: frame(caller, step) })),
      )
      for (const [at, { caller, own }] of arriving.entries()) {
        const { output } = await own.run({ input: frame(caller, step) })
        expect(difference(numbers(results[at]!['output']), numbers(output))).toBeLessThan(TOLERANCE)
        expect(results[at]!['output']!.dims).toEqual([1, 1])
      }
    }
    expect(pool.stats().batchSize.max).toBe(3)
    const [first, second] = callers
    const saved = await first!.pooled.state()
    expect(difference(numbers(saved['state']), numbers((await first!.own.state())['state']))).toBeLessThan(TOLERANCE)
    second!.pooled.restore(saved)
    first!.pooled.reset()
    const [reset, restored] = await Promise.all([
      first!.pooled.run({ input: frame(0, 9) }),
      second!.pooled.run({ input: frame(0, 9) }),
    ])
    expect(
      difference(numbers(reset['output']), numbers((await graph.run({ input: frame(0, 9) }))['output'])),
    ).toBeLessThan(TOLERANCE)
    expect(
      difference(numbers(restored['output']), numbers((await first!.own.run({ input: frame(0, 9) }))['output'])),
    ).toBeLessThan(TOLERANCE)
  })

  it('a sequence has the numbers of a stream, in chunks of any size', async () => {
    using graph = await openGraph(SILERO, { ort, fixed })
    const [steps, batch] = [11, 2]
    const input = { data: new Float32Array(steps * batch * 576), shape: [steps, batch, 576] }
    const expected: number[] = []
    const streams = [graph.stream(), graph.stream()]
    for (let step = 0; step < steps; step++) {
      for (let row = 0; row < batch; row++) {
        const one = frame(row, step)
        input.data.set(one.data, (step * batch + row) * 576)
        expected.push(numbers((await streams[row]!.run({ input: one }))['output'])[0]!)
      }
    }
    for (const chunk of [1, 4, 16]) {
      const { output } = await graph.sequence({ input }, { chunk })
      expect(output!.dims).toEqual([steps, batch, 1])
      expect(difference(numbers(output), expected)).toBeLessThan(TOLERANCE)
    }
  })

  it('`streamPool` refuses a graph of one row, and a graph of open sizes', async () => {
    using one = await openGraph(modelPath('2_dtln/model_1.onnx'), { ort })
    await expect(one.streamPool()).rejects.toThrowError(expect.objectContaining({ code: 'ERR_GRAPH_BATCH_FIXED' }))
    using open = await openGraph(SILERO, { ort, fixed: { sr: 16000 } })
    await expect(open.streamPool()).rejects.toThrow(/fix sequence by the option fixed/)
  })

  it('networks: the recurrent part; replace writes its weights back, and streams go on with them', async () => {
    using graph = await openGraph(SILERO, { ort, fixed })
    const [network, ...others] = await graph.networks()
    expect(others).toEqual([])
    expect(network!.descriptor).toMatchObject({ cellMode: 'lstm', numUnits: 128, inputSize: 128 })
    const stream = graph.stream()
    const once = async () => numbers((await graph.run({ input: frame(0, 0) }))['output'])
    const before = await once()
    await graph.replace(network!.name, network!.canonical)
    expect(difference(await once(), before)).toBe(0)
    const weights = network!.canonical.weights.map(({ data, shape }) => ({ data: data.map((each) => each / 2), shape }))
    await graph.replace(network!.name, { ...network!.canonical, weights })
    expect(difference(await once(), before)).toBeGreaterThan(1e-4)
    expect(difference(numbers((await stream.run({ input: frame(0, 0) }))['output']), await once())).toBe(0)
    using again = await openGraph(graph.toBytes(), { ort })
    expect(difference(numbers((await again.run({ input: frame(0, 0) }))['output']), await once())).toBe(0)
    await expect(graph.replace('no such', network!.canonical)).rejects.toThrowError(
      expect.objectContaining({ code: 'ERR_WEIGHTS_NOT_FOUND' }),
    )
  })
})
