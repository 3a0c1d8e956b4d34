import { elementCount } from '@cudnn-rnn/canonical'
import { expect, it } from 'vitest'
import { type GraphTensor, openGraph } from '../src/index.js'
import { describeWithGraphs, ort } from './onnxruntime.js'
import { difference, type Numbers, reference, row } from './reference_numbers.js'
import { modelBytes, modelPath } from '../../../scripts/testing/trained_models.mjs'

/** Sums of some hundred float32 terms, over tens of steps. */
const TOLERANCE = 1e-5

const SILERO = '1_silero_vad_v6.2/silero_vad_16k_op15.onnx'
const DFN3 = '6_whole_graphs/dfn3_encoder'

const numbers = (tensor: GraphTensor | undefined) => tensor?.data as Float32Array

/** Numbers that no two places share. */
function drawn(shape: readonly number[], seed = 0): Numbers {
  return { data: Float32Array.from({ length: elementCount(shape) }, (_, k) => Math.sin(k * 1.7 + seed)), shape }
}

describeWithGraphs('graphs of other projects', () => {
  it('Silero: the states of its file, the numbers of ONNX Runtime', async () => {
    const { prob_onnxruntime: expected } = await reference('1_silero_vad_v6.2/lstm_reference_20s.npz')
    const wav = new Int16Array(modelBytes('1_silero_vad_v6.2/test.wav').slice(44).buffer)
    const frame = (at: number) => {
      const from = at * 512 - 64
      return {
        data: Float32Array.from({ length: 576 }, (_, k) => (from + k < 0 ? 0 : (wav[from + k] ?? 0) / 32768)),
        shape: [1, 576],
      }
    }
    for (const fixed of [{ sr: 16000, sequence: 576 }, { sr: 16000 }]) {
      using graph = await openGraph(modelPath(SILERO), { ort, fixed })
      expect(graph.states).toEqual([
        {
          input: 'state',
          output: 'stateN',
          type: 'float32',
          shape: [2, 'batch', 128],
          found: 'sequence' in fixed ? 'structure' : 'names',
        },
      ])
      expect(graph.inputs.map(({ name }) => name)).toEqual(['input'])
      const stream = graph.stream()
      for (let at = 0; at < 60; at++) {
        const results = await stream.run({ input: frame(at) })
        expect(Object.keys(results)).toEqual(['output'])
        expect(numbers(results['output'])[0]).toBeCloseTo(expected?.data[at] ?? Number.NaN, 5)
      }
    }
  })

  it('GTCRN: three states by their names; networks across frequency get none', async () => {
    const numbersOf = await reference('6_whole_graphs/gtcrn_stream_simple/reference.npz')
    using graph = await openGraph(modelPath('6_whole_graphs/gtcrn_stream_simple/model.onnx'), { ort })
    expect(graph.states.map(({ input, output, found }) => [input, output, found])).toEqual([
      ['conv_cache', 'conv_cache_out', 'names'],
      ['tra_cache', 'tra_cache_out', 'names'],
      ['inter_cache', 'inter_cache_out', 'names'],
    ])
    const stream = graph.stream()
    for (let at = 0; at < 40; at++) {
      const { enh } = await stream.run({ mix: row(numbersOf['in_mix']!, at) })
      expect(difference(numbers(enh), row(numbersOf['out_enh']!, at).data)).toBeLessThan(TOLERANCE)
    }
    const states = await stream.state()
    for (const name of ['conv_cache', 'tra_cache', 'inter_cache'])
      expect(difference(numbers(states[name]), numbersOf[`state_${name}`]!.data)).toBeLessThan(TOLERANCE)
  })

  it('DTLN: the first half by structure; the second half has two candidates', async () => {
    const { m1_X, m1_Y, m1_state, m2_X, m2_Y } = await reference('2_dtln/onnxruntime_reference.npz')
    const shaped = (numbersOf: Numbers | undefined, at: number) => {
      const { data, shape } = row(numbersOf!, at)
      return { data, shape: [1, 1, ...shape] }
    }
    using first = await openGraph(modelPath('2_dtln/model_1.onnx'), { ort })
    expect(first.states.map(({ input, output, found }) => [input, output, found])).toEqual([
      ['input_3', 'tf_op_layer_stack_2', 'structure'],
    ])
    const stream = first.stream()
    using ambiguous = await openGraph(modelPath('2_dtln/model_2.onnx'), { ort })
    expect(() => ambiguous.stream()).toThrowError(
      expect.objectContaining({
        code: 'ERR_GRAPH_STATES_AMBIGUOUS',
        candidates: ['input_4: conv1d_3', 'input_5: tf_op_layer_stack_5'],
      }),
    )
    const states = { input_5: 'tf_op_layer_stack_5' }
    using second = await openGraph(modelPath('2_dtln/model_2.onnx'), { ort, states })
    const stream2 = second.stream()
    for (let at = 0; at < 100; at++) {
      const { activation_2 } = await stream.run({ input_2: shaped(m1_X, at) })
      expect(difference(numbers(activation_2), row(m1_Y!, at).data)).toBeLessThan(TOLERANCE)
      const { conv1d_3 } = await stream2.run({ input_4: shaped(m2_X, at) })
      expect(difference(numbers(conv1d_3), row(m2_Y!, at).data)).toBeLessThan(TOLERANCE)
    }
    expect(difference(numbers((await stream.state())['input_3']), m1_state!.data)).toBeLessThan(TOLERANCE)
  })

  it('ML-Agents: h and c in one state', async () => {
    const { in_obs_0, in_obs_1, in_action_masks, recurrent_out } = await reference(
      '6_whole_graphs/mlagents_hallway/reference.npz',
    )
    using graph = await openGraph(modelPath('6_whole_graphs/mlagents_hallway/model.onnx'), { ort })
    expect(graph.states).toEqual([
      { input: 'recurrent_in', output: 'recurrent_out', type: 'float32', shape: ['batch', 1, 128], found: 'structure' },
    ])
    const stream = graph.stream()
    for (let at = 0; at < 20; at++) {
      await stream.run({
        obs_0: row(in_obs_0!, at),
        obs_1: row(in_obs_1!, at),
        action_masks: row(in_action_masks!, at),
      })
      const { recurrent_in } = await stream.state()
      expect(difference(numbers(recurrent_in), row(recurrent_out!, at).data)).toBeLessThan(TOLERANCE)
    }
  })

  it('DeepFilterNet: the state that its file forgets is exposed; a run of the whole sequence is as before', async () => {
    const numbersOf = await reference(`${DFN3}/reference.npz`)
    using graph = await openGraph(modelPath(`${DFN3}/model.onnx`), { ort })
    expect(graph.states.map(({ input, found, node, shape }) => [input, found, node, shape])).toEqual([
      ['/emb_gru/GRU/initial_h', 'exposed', '/emb_gru/GRU', [1, 1, 256]],
    ])
    const feeds = { feat_erb: numbersOf['in_feat_erb']!, feat_spec: numbersOf['in_feat_spec']! }
    const { emb, lsnr, ...others } = await graph.run(feeds)
    expect(Object.keys(others)).toEqual(['e0', 'e1', 'e2', 'e3', 'c0'])
    expect(difference(numbers(emb), numbersOf['out_emb']!.data)).toBeLessThan(TOLERANCE)
    expect(difference(numbers(lsnr), numbersOf['out_lsnr']!.data)).toBeLessThan(1e-4)
    // The convolutions pad each call, so the parts of a stream are compared with one frame of each.
    const frames = [0, 1, 2].map((seed) => ({
      feat_erb: drawn([1, 1, 1, 32], seed),
      feat_spec: drawn([1, 2, 1, 96], seed),
    }))
    const stream = graph.stream()
    const streamed = []
    for (const frame of frames) streamed.push(numbers((await stream.run(frame))['emb']))
    const alone = numbers((await graph.run(frames[2]!))['emb'])
    expect(difference(streamed[2]!, alone)).toBeGreaterThan(1e-3)
    stream.reset()
    expect(difference(numbers((await stream.run(frames[2]!))['emb']), alone)).toBe(0)
  })

  it('aircraft and nnsplit: any batch and length run; a stream is refused with the reason', async () => {
    const { in_input_layer, out_output_0 } = await reference('6_whole_graphs/aircraft_rul_lstm/reference.npz')
    using aircraft = await openGraph(modelPath('6_whole_graphs/aircraft_rul_lstm/model.onnx'), { ort })
    const { output_0 } = await aircraft.run({ input_layer: in_input_layer! })
    expect(difference(numbers(output_0), out_output_0!.data)).toBeLessThan(1e-4)
    expect(() => aircraft.stream()).toThrowError(expect.objectContaining({ code: 'ERR_GRAPH_NOT_STREAMING' }))
    const path = '6_whole_graphs/nnsplit_byte_bilstm'
    using nnsplit = await openGraph(modelBytes(`${path}/model.onnx`), { ort })
    const plain = await ort.InferenceSession.create(modelBytes(`${path}/model.onnx`))
    for (const shape of [
      [1, 1],
      [3, 17],
      [2, 60],
    ]) {
      const data = Uint8Array.from({ length: elementCount(shape) }, (_, k) => (k * 37) % 256)
      const input = new ort.Tensor('uint8', data, shape)
      const { output } = await nnsplit.run({ input })
      expect(difference(numbers(output), (await plain.run({ input }))['output']!.data as Float32Array)).toBe(0)
    }
    await plain.release()
    expect(() => nnsplit.stream()).toThrow(/LSTM_9 reads the sequence from its end/)
  })

  it('toBytes: the folded graph runs anywhere', async () => {
    using graph = await openGraph(modelPath(`${DFN3}/model.onnx`), { ort })
    const session = await ort.InferenceSession.create(graph.toBytes())
    const frame = { feat_erb: drawn([1, 1, 1, 32]), feat_spec: drawn([1, 2, 1, 96]) }
    const h = { data: new Float32Array(256), shape: [1, 1, 256] }
    const tensors = Object.entries({ ...frame, '/emb_gru/GRU/initial_h': h }).map(([name, { data, shape }]) => {
      return [name, new ort.Tensor('float32', data as Float32Array, shape)] as const
    })
    const { emb } = await session.run(Object.fromEntries(tensors))
    expect(difference(emb!.data as Float32Array, numbers((await graph.run(frame))['emb']))).toBe(0)
    await session.release()
  })
})
