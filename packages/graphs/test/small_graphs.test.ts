import { encodeOnnxModel, type NodeToWrite } from '@cudnn-rnn/interop'
import { expect, it } from 'vitest'
import { type GraphTensor, openGraph } from '../src/index.js'
import type { OpenGraphOptions } from '../src/open_graph.js'
import { describeWithRuntime, ort } from './onnxruntime.js'

const numbers = (tensor: GraphTensor | undefined) => Array.from(tensor?.data as Float32Array)
const value = (name: string, shape: readonly (number | string)[]) => ({ name, elementType: 'float32', shape }) as const
const tensor = (shape: readonly number[], fill = 0.3) => ({
  data: Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, k) => fill * Math.cos(k)),
  shape,
})

interface SmallGraph {
  readonly nodes: readonly NodeToWrite[]
  readonly inputs: ReturnType<typeof value>[]
  readonly outputs: ReturnType<typeof value>[]
  readonly initializers?: Parameters<typeof encodeOnnxModel>[0]['initializers']
}

const bytesOf = ({ initializers = {}, ...rest }: SmallGraph) =>
  encodeOnnxModel({ name: 'small', initializers, ...rest }, 8, 17)

function open(graph: SmallGraph, options: Partial<OpenGraphOptions> = {}) {
  return openGraph(bytesOf(graph), { ort, ...options })
}

/** A sum that is carried: total = total before + x. */
const SUM: SmallGraph = {
  nodes: [{ opType: 'Add', name: 'add', inputs: ['x', 'state'], outputs: ['state_out'] }],
  inputs: [value('x', ['batch', 2]), value('state', ['batch', 2])],
  outputs: [value('state_out', ['batch', 2])],
}
const STATED: SmallGraph = {
  ...SUM,
  nodes: [...SUM.nodes, { opType: 'Neg', name: 'neg', inputs: ['state_out'], outputs: ['y'] }],
  outputs: [...SUM.outputs, value('y', ['batch', 2])],
}
/** A GRU that starts from zeros over an axis of `steps`. */
const gru = (steps: number | string, direction = 'forward'): SmallGraph => ({
  nodes: [
    {
      ...{ opType: 'GRU', name: 'gru', inputs: ['x', 'W', 'R'], outputs: ['Y'] },
      attributes: { hidden_size: 2, direction, linear_before_reset: 1 },
    },
  ],
  inputs: [value('x', [steps, 'batch', 3])],
  outputs: [value('Y', [steps, direction === 'bidirectional' ? 2 : 1, 'batch', 2])],
  initializers: {
    W: tensor([direction === 'bidirectional' ? 2 : 1, 6, 3]),
    R: tensor([direction === 'bidirectional' ? 2 : 1, 6, 2]),
  },
})

/** A runtime that takes any model and runs none. */
const create = async () => ({ run: async () => ({}), release: async () => undefined })
const unused = { InferenceSession: { create }, Tensor: class {} }

describeWithRuntime('small graphs', () => {
  it('a stream carries its states apart from others, resets, returns and restores them', async () => {
    using graph = await open(STATED)
    expect(graph.states).toEqual([
      { input: 'state', output: 'state_out', type: 'float32', shape: ['batch', 2], found: 'names' },
    ])
    const [one, other] = [graph.stream(), graph.stream()]
    const step = async (stream: typeof one, x: number) =>
      numbers((await stream.run({ x: { data: Float32Array.of(x, -x), shape: [1, 2] } }))['y'])
    // Calls that are not awaited take effect in their order.
    const [first, second] = await Promise.all([step(one, 1), step(one, 2), step(other, 10)])
    expect([first, second]).toEqual([
      [-1, 1],
      [-3, 3],
    ])
    const saved = await one.state()
    expect(await step(other, 1)).toEqual([-11, 11])
    other.restore(saved)
    one.reset()
    expect([await step(other, 1), await step(one, 1)]).toEqual([
      [-4, 4],
      [-1, 1],
    ])
    one.dispose()
    await expect(one.run({})).rejects.toThrowError(expect.objectContaining({ code: 'ERR_GRAPH_CLOSED' }))
  })

  it('a run without a stream takes the states of the file, and zeros if they are not fed', async () => {
    using graph = await open(STATED)
    const x = { data: Float32Array.of(1, 2), shape: [1, 2] }
    const { state_out } = await graph.run({ x })
    expect(numbers(state_out)).toEqual([1, 2])
    expect(numbers((await graph.run({ x, state: state_out! }))['y'])).toEqual([-2, -4])
  })

  it('a failed step leaves the states', async () => {
    // ONNX Runtime prints its errors otherwise.
    const session = { logSeverityLevel: 4 }
    const failing = {
      ...STATED,
      nodes: [
        ...STATED.nodes.slice(0, 1),
        { opType: 'Concat', name: 'both', inputs: ['state_out', 'z'], outputs: ['y'], attributes: { axis: 0 } },
      ],
      inputs: [...STATED.inputs, value('z', ['rows', 'columns'])],
    }
    using graph = await open(failing, { session })
    const stream = graph.stream()
    const feeds = (columns: number) => ({
      x: { data: Float32Array.of(1, 2), shape: [1, 2] },
      z: { data: new Float32Array(columns), shape: [1, columns] },
    })
    await stream.run(feeds(2))
    await expect(stream.run(feeds(3))).rejects.toThrowError(expect.objectContaining({ code: 'ERR_GRAPH_RUNTIME' }))
    expect(numbers((await stream.state())['state'])).toEqual([1, 2])
    expect(numbers((await stream.run(feeds(2)))['y']).slice(0, 2)).toEqual([2, 4])
  })

  it.each([
    ['nothing', undefined, 'ERR_INVALID_ARGUMENT'],
    ['a missing input', {}, 'ERR_GRAPH_INPUT'],
    ['an unknown input', { x: tensor([1, 2]), u: tensor([1]) }, 'ERR_GRAPH_INPUT'],
    ['a state', { x: tensor([1, 2]), state: tensor([1, 2]) }, 'ERR_GRAPH_STATE'],
    ['a number', { x: 1 }, 'ERR_GRAPH_INPUT'],
    ['null', { x: null }, 'ERR_GRAPH_INPUT'],
    ['data of another type', { x: { data: new Int8Array(2), shape: [1, 2] } }, 'ERR_GRAPH_INPUT'],
    ['a list of numbers', { x: { data: [1, 2], shape: [1, 2] } }, 'ERR_GRAPH_INPUT'],
    ['too few elements', { x: { data: new Float32Array(1), shape: [1, 2] } }, 'ERR_GRAPH_INPUT'],
    ['another shape', { x: tensor([1, 3]) }, 'ERR_GRAPH_INPUT'],
    ['a shape that is none', { x: { data: new Float32Array(2), shape: [-1, -2] } }, 'ERR_GRAPH_INPUT'],
  ])('a stream refuses %s', async (_, feeds, code) => {
    using graph = await open(STATED)
    await expect(graph.stream().run(feeds as never)).rejects.toThrowError(expect.objectContaining({ code }))
  })

  it.each([
    ['no ONNX Runtime', { ort: {} }, 'ERR_INVALID_OPTION_TYPE'],
    ['an unknown option', { batch: 1 }, 'ERR_UNKNOWN_OPTION'],
    ['an input that is not there', { fixed: { u: 1 } }, 'ERR_GRAPH_FIXED'],
    ['a size that is none', { fixed: { batch: 0.5 } }, 'ERR_GRAPH_FIXED'],
    ['an input of another shape', { fixed: { x: tensor([3]) } }, 'ERR_GRAPH_FIXED'],
    ['a pair that is not there', { states: { x: 'u' } }, 'ERR_GRAPH_STATE'],
    ['a word', { states: 'some' }, 'ERR_INVALID_OPTION'],
  ])('openGraph refuses %s', async (_, options, code) => {
    await expect(open(STATED, options as never)).rejects.toThrowError(expect.objectContaining({ code }))
  })

  it('a damaged file and one that ONNX Runtime refuses have codes', async () => {
    const bytes = bytesOf(STATED)
    await expect(openGraph(bytes.slice(0, 40), { ort })).rejects.toThrowError(
      expect.objectContaining({ code: 'ERR_WEIGHTS_CORRUPT' }),
    )
    const unknown = { ...STATED, nodes: [{ ...STATED.nodes[0]!, opType: 'NoSuchOperator' }, STATED.nodes[1]!] }
    await expect(open(unknown)).rejects.toThrowError(expect.objectContaining({ code: 'ERR_GRAPH_RUNTIME' }))
    const cycle = { ...STATED, nodes: [{ ...STATED.nodes[0]!, inputs: ['y', 'state'] }, STATED.nodes[1]!] }
    await expect(open(cycle)).rejects.toThrowError(expect.objectContaining({ code: 'ERR_GRAPH_RUNTIME' }))
  })

  it('a recurrent node gets a state where its sequence is one step or the open length', async () => {
    const states = async (graph: SmallGraph, options = {}) =>
      (await open(graph, options)).states.map(({ input }) => input)
    expect(await states(gru(1))).toEqual(['gru/initial_h'])
    expect(await states(gru('time'))).toEqual(['gru/initial_h'])
    // Across 33 frequencies.
    expect(await states(gru(33))).toEqual([])
    using across = await open(gru(33))
    expect(() => across.stream()).toThrow(/If the axis of its node gru is time, pass states: \{ 'gru': 'exposed' \}/)
    expect(await states(gru(33), { states: { gru: 'exposed' } })).toEqual(['gru/initial_h'])
    expect(await states(gru('time', 'reverse'))).toEqual([])
    expect(await states(gru('time', 'bidirectional'))).toEqual([])
    expect(await states(gru(1), { states: 'none' })).toEqual([])
  })

  it('the exposed state makes steps of a sequence equal to the sequence', async () => {
    using graph = await open(gru('time'))
    const stream = graph.stream()
    const x = tensor([4, 2, 3], 1)
    const whole = numbers((await graph.run({ x }))['Y'])
    const steps: number[] = []
    for (let step = 0; step < 4; step++) {
      const { Y } = await stream.run({ x: { data: x.data.slice(6 * step, 6 * step + 6), shape: [1, 2, 3] } })
      steps.push(...numbers(Y))
    }
    for (const [at, expected] of whole.entries()) expect(steps[at]).toBeCloseTo(expected, 6)
  })

  it('a fixed input decides a condition, and constants follow from it', async () => {
    using graph = await open(
      {
        nodes: [
          { opType: 'Mul', name: 'double', inputs: ['rate', 'two'], outputs: ['twice'] },
          { opType: 'Mul', name: 'scale', inputs: ['x', 'twice'], outputs: ['y'] },
        ],
        inputs: [value('x', ['batch', 2]), value('rate', [])],
        outputs: [value('y', ['batch', 2])],
        initializers: { two: { data: Float32Array.of(2), shape: [] } },
      },
      { fixed: { rate: 3 } },
    )
    expect(graph.inputs.map(({ name }) => name)).toEqual(['x'])
    expect(numbers((await graph.run({ x: { data: Float32Array.of(1, 2), shape: [1, 2] } }))['y'])).toEqual([6, 12])
    expect(() => graph.stream()).toThrowError(expect.objectContaining({ code: 'ERR_GRAPH_STATES_AMBIGUOUS' }))
  })

  it('integers beyond 2^53 are computed by ONNX Runtime', async () => {
    using graph = await open({
      nodes: [
        { opType: 'Add', name: 'twice', inputs: ['large', 'large'], outputs: ['double'] },
        { opType: 'Add', name: 'above', inputs: ['double', 'one'], outputs: ['sum'] },
        { opType: 'Sub', name: 'below', inputs: ['sum', 'double'], outputs: ['rest'] },
        { opType: 'Cast', name: 'cast', inputs: ['rest'], outputs: ['factor'], attributes: { to: 1 } },
        { opType: 'Mul', name: 'scale', inputs: ['x', 'factor'], outputs: ['y'] },
      ],
      inputs: [value('x', ['batch', 2])],
      outputs: [value('y', ['batch', 2])],
      initializers: { large: [2 ** 52], one: [1] },
    })
    expect(numbers((await graph.run({ x: { data: Float32Array.of(1, 2), shape: [1, 2] } }))['y'])).toEqual([1, 2])
  })

  it('a sum of 16-bit floats is computed by ONNX Runtime, in single precision', async () => {
    const [FLOAT, FLOAT16] = [1, 10]
    using graph = await open({
      nodes: [
        { opType: 'Cast', name: 'half', inputs: ['third'], outputs: ['h'], attributes: { to: FLOAT16 } },
        { opType: 'Cast', name: 'large', inputs: ['many'], outputs: ['k'], attributes: { to: FLOAT16 } },
        { opType: 'Add', name: 'sum', inputs: ['h', 'k'], outputs: ['s'] },
        { opType: 'Cast', name: 'cast', inputs: ['s'], outputs: ['floats'], attributes: { to: FLOAT } },
        { opType: 'Add', name: 'add', inputs: ['x', 'floats'], outputs: ['y'] },
      ],
      inputs: [value('x', ['batch', 1])],
      outputs: [value('y', ['batch', 1])],
      initializers: { third: { data: Float32Array.of(1 / 3), shape: [1] }, many: [10_000] },
    })
    const [y] = numbers((await graph.run({ x: { data: new Float32Array(1), shape: [1, 1] } }))['y'])
    expect(y).toBeCloseTo(10_000.333, 2)
  })

  // The standard ends such a slice behind the last element, ONNX Runtime before the first.
  it('a slice to the largest integer toward the beginning is left to ONNX Runtime', async () => {
    using graph = await open({
      nodes: [
        { opType: 'Slice', name: 'turn', inputs: ['all', 'last', 'largest', 'axis', 'back'], outputs: ['turned'] },
        { opType: 'Cast', name: 'cast', inputs: ['turned'], outputs: ['floats'], attributes: { to: 1 } },
        { opType: 'Add', name: 'add', inputs: ['x', 'floats'], outputs: ['y'] },
      ],
      inputs: [value('x', ['batch'])],
      outputs: [value('y', ['out'])],
      initializers: { all: [5, 7], last: [9], largest: [2 ** 31 - 1], axis: [0], back: [-1] },
    })
    expect(numbers((await graph.run({ x: { data: new Float32Array(1), shape: [1] } }))['y'])).toEqual([7, 5])
  })

  it('the sizes of some axes are not those of all', async () => {
    using graph = await open({
      nodes: [
        { opType: 'Shape', name: 'shape', inputs: ['x'], outputs: ['sizes'], attributes: { start: 1, end: -1 } },
        { opType: 'Cast', name: 'cast', inputs: ['sizes'], outputs: ['floats'], attributes: { to: 1 } },
        { opType: 'Add', name: 'add', inputs: ['x', 'floats'], outputs: ['y'] },
      ],
      inputs: [value('x', ['batch', 5, 1])],
      outputs: [value('y', ['batch', 5, 1])],
    })
    expect(numbers((await graph.run({ x: { data: new Float32Array(5), shape: [1, 5, 1] } }))['y'])).toEqual([
      5, 5, 5, 5, 5,
    ])
  })

  it('a pool refuses rows that depend on each other', async () => {
    using graph = await open({
      ...STATED,
      nodes: [
        STATED.nodes[0]!,
        { opType: 'Softmax', name: 'softmax', inputs: ['state_out'], outputs: ['y'], attributes: { axis: 0 } },
      ],
    })
    await expect(graph.streamPool()).rejects.toThrowError(expect.objectContaining({ code: 'ERR_GRAPH_NOT_ROWWISE' }))
    await expect(graph.sequence({ x: tensor([3, 1, 2]) })).rejects.toThrowError(
      expect.objectContaining({ code: 'ERR_GRAPH_NOT_ROWWISE' }),
    )
  })

  it('a sequence has the numbers of a stream, with states that are given, moved or exposed, for several batches at once', async () => {
    const weights = { W: tensor([1, 8, 3]), R: tensor([1, 8, 2], 0.7), axis: [0] }
    const lstm = (states: readonly string[], outputs: readonly string[]): NodeToWrite => ({
      ...{ opType: 'LSTM', name: 'lstm', inputs: ['steps', 'W', 'R', '', '', ...states], outputs },
      attributes: { hidden_size: 2 },
    })
    const before: NodeToWrite = { opType: 'Unsqueeze', name: 'before', inputs: ['x', 'axis'], outputs: ['steps'] }
    const squeezed = (from: string, to: string): NodeToWrite => ({
      ...{ opType: 'Squeeze', name: `squeeze_${to}`, inputs: [from, 'axis'], outputs: [to] },
    })
    const x = value('x', ['batch', 3])
    const own = (name: string) => value(name, ['batch', 2])
    const explicit: SmallGraph = {
      nodes: [
        before,
        { opType: 'Unsqueeze', name: 'open', inputs: ['h', 'axis'], outputs: ['h0'] },
        lstm(['h0', 'c'], ['Y', 'Yh', 'c_out']),
        squeezed('Yh', 'h_out'),
        { opType: 'Tanh', name: 'tanh', inputs: ['h_out'], outputs: ['y'] },
      ],
      inputs: [x, own('h'), value('c', [1, 'batch', 2])],
      outputs: [own('y'), own('h_out'), value('c_out', [1, 'batch', 2])],
      initializers: weights,
    }
    const exposed: SmallGraph = {
      nodes: [
        before,
        lstm([], ['Y']),
        { opType: 'Flatten', name: 'rows', inputs: ['Y'], outputs: ['y'], attributes: { axis: 3 } },
      ],
      inputs: [x],
      outputs: [own('y')],
      initializers: weights,
    }
    for (const [model, found] of [
      [explicit, ['structure', 'structure']],
      [exposed, ['exposed', 'exposed']],
    ] as const) {
      using graph = await open(model)
      expect(graph.states.map((state) => state.found)).toEqual(found)
      const compared = [1, 2, 3, 4, 5, 6].map(async (batch) => {
        const sequence = tensor([5, batch, 3], 1 / batch)
        const { y } = await graph.sequence({ x: sequence }, { chunk: 2 })
        using stream = graph.stream()
        const expected: number[] = []
        for (let step = 0; step < 5; step++) {
          const data = sequence.data.slice(step * batch * 3, (step + 1) * batch * 3)
          expected.push(...numbers((await stream.run({ x: { data, shape: [batch, 3] } }))['y']))
        }
        expect(y?.dims).toEqual([5, batch, 2])
        expect(numbers(y)).toEqual(expected.map((each) => expect.closeTo(each, 6)))
      })
      await Promise.all(compared)
    }
  })

  it('a pool needs an output of float32', async () => {
    const cast: NodeToWrite = {
      opType: 'Cast',
      name: 'y',
      inputs: ['state_out'],
      outputs: ['y'],
      attributes: { to: 7 },
    }
    using graph = await open({
      ...STATED,
      nodes: [STATED.nodes[0]!, cast],
      outputs: [...SUM.outputs, { ...value('y', ['batch', 2]), elementType: 'int64' as 'float32' }],
    })
    await expect(graph.streamPool()).rejects.toThrowError(expect.objectContaining({ code: 'ERR_GRAPH_UNSUPPORTED' }))
  })

  it('a sequence needs recurrent nodes alone to read the states', async () => {
    using graph = await open(STATED)
    await expect(graph.sequence({ x: tensor([3, 1, 2]) })).rejects.toThrow(/the node add uses a state/)
  })

  it('mutated files are opened or refused with a code', async () => {
    let seed = 20_261_129
    const drawn = (below: number) => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
      return seed % below
    }
    const shaped: SmallGraph = {
      nodes: [
        { opType: 'Shape', name: 'shape', inputs: ['x'], outputs: ['sizes'] },
        { opType: 'Gather', name: 'first', inputs: ['sizes', 'zero'], outputs: ['rows'], attributes: { axis: 0 } },
        { opType: 'Div', name: 'div', inputs: ['wide', 'zero'], outputs: ['divided'] },
        {
          opType: 'Concat',
          name: 'both',
          inputs: ['rows', 'wide', 'divided'],
          outputs: ['to'],
          attributes: { axis: 0 },
        },
        { opType: 'Expand', name: 'expand', inputs: ['x', 'to'], outputs: ['y'] },
      ],
      inputs: [value('x', ['batch', 2])],
      outputs: [value('y', ['batch', 2])],
      initializers: { zero: [0], wide: [-2] },
    }
    for (const graph of [STATED, gru(1), gru('time'), shaped]) {
      const bytes = bytesOf(graph)
      for (let round = 0; round < 200; round++) {
        const mutated = bytes.slice()
        for (let change = 0; change < round % 4; change++) mutated[drawn(bytes.length)] = drawn(256)
        const outcome = openGraph(mutated, { ort: unused }).then((opened) => opened.stream())
        await outcome.catch((error: { code?: string }) => expect(error.code).toMatch(/^ERR_/))
      }
    }
  })

  it('20,000 nodes take time in proportion to their number', async () => {
    const chain = (length: number): SmallGraph => ({
      nodes: Array.from({ length }, (_, k) => ({
        ...{ opType: k % 2 === 0 ? 'Concat' : 'Identity', name: `n${k}`, inputs: [`v${k}`], outputs: [`v${k + 1}`] },
        ...(k % 2 === 0 && { attributes: { axis: 0 } }),
      })),
      inputs: [value('v0', ['batch', 2])],
      outputs: [value(`v${length}`, ['batch', 2])],
    })
    // Without ONNX Runtime, which takes its own time for such graphs.
    const bytes = bytesOf(chain(20_000))
    using graph = await openGraph(bytes, { ort: unused })
    expect(graph.inputs).toHaveLength(1)
  })
})
