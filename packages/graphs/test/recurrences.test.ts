import { encodeOnnxModel } from '@cudnn-rnn/interop'
import { expect, it } from 'vitest'
import fixture from '../../../fixtures/graphs/models.json' with { type: 'json' }
import { type GraphTensor, openGraph } from '../src/index.js'
import { describeWithRuntime, ort } from './onnxruntime.js'

const [T, B, I] = [4, 2, 2]
const x = Float32Array.from({ length: T * B * I }, (_, k) => Math.cos(k))

const numbers = (tensor: GraphTensor | undefined) => Array.from(tensor?.data as Float32Array)

describeWithRuntime('recurrences', () => {
  it.each([
    ['a Scan', fixture.scan, ['scan/initial_state_0'], 6],
    // ONNX Runtime quantizes x by the largest number of a call.
    [
      'quantized layers',
      fixture.quantized,
      ['h', 'c', 'h', 'c'].map((word, at) => `lstm${at >> 1}/initial_${word}`),
      2,
    ],
  ])('%s: steps of a sequence equal the sequence', async (_, model, states, digits) => {
    using graph = await openGraph(Buffer.from(model, 'base64'), { ort })
    expect(graph.states.map(({ input }) => input)).toEqual(states)
    const { y: whole } = await graph.run({ x: { data: x, shape: [T, B, I] } })
    using stream = graph.stream()
    const steps: number[] = []
    for (let step = 0; step < T; step++) {
      const { y } = await stream.run({ x: { data: x.slice(step * B * I, (step + 1) * B * I), shape: [1, B, I] } })
      steps.push(...numbers(y))
    }
    const expected = numbers(whole).map((each) => expect.closeTo(each, digits))
    expect(steps).toEqual(expected)
  })

  it.each([
    [
      'one that computes over the steps of a call',
      'Softmax',
      'time',
      /its node between computes over all steps of a call/,
    ],
    // The shape of a Trilu is not known.
    [
      'one of unknown sizes, beside one that is carried',
      'Trilu',
      'time',
      /the sizes of the sequence of its node second/,
    ],
    ['all that an axis of time would need', 'Tanh', 5, /pass states: { 'first': 'exposed', 'second': 'exposed' }/],
  ])('a refused stream names %s', async (_, opType, time, message) => {
    const weights = (rows: number) => ({ data: new Float32Array(6 * rows), shape: [1, 6, rows] })
    const gru = (name: string, from: string) => ({
      ...{ opType: 'GRU', name, inputs: [from, 'W', 'R'], outputs: [`${name}_y`], attributes: { hidden_size: 2 } },
    })
    const value = (name: string, shape: (number | string)[]) => ({ name, elementType: 'float32', shape }) as const
    const graph = {
      name: 'beside',
      nodes: [
        gru('first', 'x'),
        {
          opType,
          name: 'between',
          inputs: ['x'],
          outputs: ['x2'],
          attributes: opType === 'Softmax' ? { axis: 0 } : {},
        },
        gru('second', 'x2'),
        { opType: 'Add', name: 'add', inputs: ['first_y', 'second_y'], outputs: ['y'] },
      ],
      initializers: { W: weights(3), R: weights(2) },
      inputs: [value('x', [time, 'batch', 3])],
      outputs: [value('y', [time, 1, 'batch', 2])],
    }
    using opened = await openGraph(encodeOnnxModel(graph, 8, 17), { ort })
    expect(() => opened.stream()).toThrow(message)
  })

  /** A carried value that no recurrent operator makes, so that names decide. */
  async function statesOf(input: string, output: string) {
    const value = (name: string) => ({ name, elementType: 'float32', shape: ['batch', 2] }) as const
    const add = { opType: 'Add', name: 'add', inputs: ['x', input], outputs: [output] }
    const graph = {
      name: 'sum',
      nodes: [add],
      initializers: {},
      inputs: [value('x'), value(input)],
      outputs: [value(output)],
    }
    using opened = await openGraph(encodeOnnxModel(graph, 8, 17), { ort })
    return opened.states.map((state) => `${state.input} ${state.output}`)
  }

  it.each([
    ['hx', 'hx_out'],
    ['hx', 'next_hx'],
    ['state_in', 'state_out'],
    ['state_ins', 'state_outs'],
    ['prev_hidden', 'new_hidden'],
    ['hiddenIn', 'hiddenOut'],
    ['h_in', 'h_out'],
    ['initial_c', 'final_c'],
    ['enc.h_0', 'enc.h_0_out'],
  ])('%s and %s are a state', async (input, output) => {
    expect(await statesOf(input, output)).toEqual([`${input} ${output}`])
  })

  it.each([
    ['audio_in', 'audio_out'],
    ['state_in', 'enhanced_out'],
    ['input', 'output'],
    ['h1_in', 'h2_out'],
  ])('%s and %s are none', async (input, output) => {
    expect(await statesOf(input, output)).toEqual([])
  })
})
