import { elementCount } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { type ImportOptions, importWeights, type WeightFile } from '../src/index.js'
import { describedLayers } from '../src/networks/keras_description.js'
import { compute } from './fixture.js'
import { runCell } from './run_cell.js'

type Json = Readonly<Record<string, unknown>>
type Shapes = Readonly<Record<string, readonly number[]>>

const layer = (className: string, config: Json = {}, more: Json = {}): Json => ({
  class_name: className,
  config,
  ...more,
})
const model = (layers: readonly unknown[], className = 'Sequential', more: Json = {}) =>
  layer(className, { name: 'net', layers, ...more })

/** Every element of a tensor is its number in the file, so that it shows where a network took it from. */
function fileOf(shapes: Shapes, described?: unknown, more: Partial<WeightFile> = {}): WeightFile {
  const tensors = Object.entries(shapes).map(([name, shape], index) => ({
    name,
    shape,
    dtype: 'float32',
    read: async () => new Float32Array(elementCount(shape)).fill(index + 1),
  }))
  const description = described === undefined ? {} : { kerasModel: described }
  return { format: 'keras-h5', path: 'made', tensors, close: async () => undefined, ...description, ...more }
}

const importOf = (shapes: Shapes, described?: unknown, options: ImportOptions = {}) =>
  importWeights(fileOf(shapes, described), options)

/** The variables of cells of one unit and one input, in a file of Keras 3. */
function cells(gates: number, ...places: readonly string[]): Shapes {
  return Object.fromEntries(
    places.flatMap((place) => [
      [`${place}/vars/0`, [1, gates]],
      [`${place}/vars/1`, [1, gates]],
      [`${place}/vars/2`, [gates]],
    ]),
  )
}

/** The same in an older file. */
function named(gates: number, ...prefixes: readonly string[]): Shapes {
  return Object.fromEntries(
    prefixes.flatMap((prefix) => [
      [`${prefix}/kernel:0`, [1, gates]],
      [`${prefix}/recurrent_kernel:0`, [1, gates]],
      [`${prefix}/bias:0`, [gates]],
    ]),
  )
}

const UNITS = { units: 1, activation: 'tanh', recurrent_activation: 'sigmoid' }
const lstm = (name: string, config: Json = {}, more: Json = {}) => layer('LSTM', { name, ...UNITS, ...config }, more)
const plain = (name: string, config: Json = {}, more: Json = {}) =>
  layer('SimpleRNN', { name, units: 1, activation: 'tanh', ...config }, more)

function only<Item>(list: readonly Item[]): Item {
  expect(list).toHaveLength(1)
  return list[0]!
}

/** Names, places and groups of the layers that a description has. */
const found = (described: unknown) =>
  describedLayers('made', described).map(({ name, group, directions }) => ({
    name,
    group,
    places: directions.flatMap((direction) => direction.cells.map(({ place }) => place)),
  }))

describe('describedLayers', () => {
  it.each([undefined, null, 3, 'text', [], true])('has none of %o', (described) => {
    expect(describedLayers('made', described)).toEqual([])
  })

  it('numbers places by class, in the order of the model, as Keras 3 does', () => {
    const layers = [layer('InputLayer'), plain('b'), layer('Dense', { name: 'd' }), lstm('x'), plain('a'), lstm('y')]
    expect(found(model(layers))).toEqual([
      { name: 'b', group: 'b', places: ['layers/simple_rnn/cell'] },
      { name: 'x', group: 'x', places: ['layers/lstm/cell'] },
      { name: 'a', group: 'a', places: ['layers/simple_rnn_1/cell'] },
      { name: 'y', group: 'y', places: ['layers/lstm_1/cell'] },
    ])
  })

  it('joins the names of models within models, whose outermost one is the group', () => {
    const inner = model([lstm('deep'), layer('Dense')], 'Functional', { name: 'inner' })
    const middle = model([inner, plain('side')], 'Sequential', { name: 'middle' })
    expect(found(model([lstm('top'), middle]))).toEqual([
      { name: 'top', group: 'top', places: ['layers/lstm/cell'] },
      {
        name: 'middle/inner/deep',
        group: 'middle',
        places: ['layers/sequential/layers/functional/layers/lstm/cell'],
      },
      { name: 'middle/side', group: 'middle', places: ['layers/sequential/layers/simple_rnn/cell'] },
    ])
  })

  it('reads the list of layers that Keras before 2.2.3 wrote', () => {
    expect(found({ class_name: 'Sequential', config: [lstm('first'), 'not a layer', null] })).toMatchObject([
      { name: 'first' },
    ])
  })

  it('takes the name beside the configuration if none is in it, and the class if there is none', () => {
    const layers = [layer('LSTM', { units: 1 }, { name: 'beside' }), layer('GRU', { units: 1 })]
    expect(found(model(layers)).map(({ name }) => name)).toEqual(['beside', 'GRU'])
  })

  it('has both sides of a Bidirectional, and derives the backward one if it is not given', () => {
    const derived = layer('Bidirectional', { name: 'both', layer: lstm('own', { go_backwards: false }) })
    const { directions, mergeMode } = only(describedLayers('made', model([derived])))
    expect(directions.map(({ config }) => config['go_backwards'])).toEqual([false, true])
    expect(directions.map((direction) => direction.cells[0]?.place)).toEqual([
      'layers/bidirectional/forward_layer/cell',
      'layers/bidirectional/backward_layer/cell',
    ])
    expect(mergeMode).toBe('concat')
    const given = layer('Bidirectional', { layer: lstm('a'), backward_layer: plain('b'), merge_mode: null })
    const other = only(describedLayers('made', model([given])))
    expect(other.directions.map(({ className }) => className)).toEqual(['LSTM', 'SimpleRNN'])
    expect(other.mergeMode).toBe(null)
  })

  it('has the cells of a stack at their numbers, under names that differ', () => {
    const stacked = layer('StackedRNNCells', {
      cells: [layer('LSTMCell', { name: 'c' }), layer('LSTMCell', { name: 'c' }), layer('GRUCell'), 'not a cell'],
    })
    const { directions } = only(describedLayers('made', model([layer('RNN', { name: 'rnn', cell: stacked })])))
    expect(directions[0]!.cells.map(({ name, place }) => [name, place])).toEqual([
      ['c', 'layers/rnn/cell/cells/lstm_cell'],
      ['c#1', 'layers/rnn/cell/cells/lstm_cell_1'],
      ['gru_cell', 'layers/rnn/cell/cells/gru_cell'],
    ])
  })

  it('counts a layer as frozen where it, its cell or a model around it is', () => {
    const frozen = { trainable: false }
    const rnn = (name: string, config: Json, cell: Json) =>
      layer('RNN', { name, ...config, cell: layer('LSTMCell', { name: 'c', ...UNITS, ...cell }) })
    const layers = [
      lstm('free'),
      lstm('own', frozen),
      rnn('wrapped', frozen, {}),
      rnn('inner', {}, frozen),
      model([lstm('deep')], 'Sequential', { name: 'model', ...frozen }),
    ]
    const trainable = describedLayers('made', model(layers)).map(({ directions }) => directions[0]?.cells[0]?.trainable)
    expect(trainable).toEqual([true, false, false, false, false])
  })

  it('refuses descriptions that are deeper than models are, and class names that are too long', () => {
    let deep: Json = lstm('deepest')
    for (let depth = 0; depth < 70; depth++) deep = model([deep])
    expect(() => describedLayers('made', deep)).toThrow(coded('ERR_WEIGHTS_CORRUPT'))
    let wrapped: Json = lstm('deepest')
    for (let depth = 0; depth < 70; depth++) wrapped = layer('TimeDistributed', { layer: wrapped })
    expect(() => describedLayers('made', model([wrapped]))).toThrow(coded('ERR_WEIGHTS_CORRUPT'))
    expect(() => describedLayers('made', model([layer('L'.repeat(257))]))).toThrow(coded('ERR_WEIGHTS_CORRUPT'))
  })

  it.each<[string, Json]>([
    ['a registered class', { class_name: 'LSTM', registered_name: 'mine>LSTM' }],
    ['a class of another module', { class_name: 'LSTM', module: 'kerastuner.layers' }],
    ['a module of a program', { class_name: 'LSTM', module: 'mine', registered_name: null }],
  ])('refuses %s, and no layer of Keras beside it', (_, own) => {
    const homes = ['keras.layers', 'keras.src.layers.rnn.lstm', 'tensorflow.python.keras', 'tf_keras.layers', 'keras']
    const layers = [{ ...own, config: { name: 'foreign' } }, ...homes.map((module) => lstm('own', {}, { module }))]
    const refusals = describedLayers('made', model(layers)).map(({ refusal }) => refusal)
    expect(refusals).toEqual([expect.stringContaining("is not Keras' own"), ...homes.map(() => undefined)])
  })

  it('refuses a model of a foreign class as one layer', () => {
    const described = { ...model([lstm('own')]), registered_name: 'mine>Model' }
    expect(describedLayers('made', described)).toMatchObject([
      { name: 'net', directions: [], refusal: expect.stringContaining('mine>Model') },
    ])
    expect(describedLayers('made', layer('Subclassed', {}))).toMatchObject([{ name: 'Subclassed', directions: [] }])
  })
})

describe('the notes of a described layer', () => {
  const notesOf = (layers: readonly unknown[]) => describedLayers('made', model(layers)).map(({ notes }) => notes)

  it('name the layers that mask steps, those within models and wrappers included', () => {
    const layers = [
      layer('Embedding', { name: 'words', mask_zero: true }),
      model([layer('Masking', { name: 'inner' })], 'Sequential', { name: 'model' }),
      layer('TimeDistributed', { name: 't', layer: layer('Masking', { name: 'wrapped' }) }),
      lstm('own'),
    ]
    const note = only(only(notesOf(layers)))
    expect(note).toContain('(words, inner, wrapped)')
    expect(notesOf([layer('Embedding', { mask_zero: false }), lstm('own')])).toEqual([[]])
  })

  it.each<[string, unknown]>([
    ['by name in Keras 3', { args: [], kwargs: { initial_state: [{}, {}] } }],
    ['by place in Keras 3', { args: [{}, [{}, {}]], kwargs: {} }],
    [
      'as tensors in Keras 2',
      [
        ['x', 0, 0, {}],
        ['h', 0, 0, {}],
        ['c', 0, 0, {}],
      ],
    ],
    ['by name in Keras 2', [['x', 0, 0, { initial_state: ['h', 0, 0] }]]],
  ])('say that the model gives it states %s', (_, call) => {
    expect(notesOf([lstm('own', {}, { inbound_nodes: [call] })])).toEqual([[expect.stringContaining('initial_state')]])
  })

  it.each<[string, unknown]>([
    ['no call', undefined],
    ['a call with an input alone in Keras 3', [{ args: [{}], kwargs: { initial_state: null } }]],
    ['a call with an input alone in Keras 2', [[['x', 0, 0, {}]]]],
    ['anything else', [3, null, 'text', {}, []]],
  ])('say nothing of states for %s', (_, nodes) => {
    expect(notesOf([lstm('own', {}, { inbound_nodes: nodes })])).toEqual([[]])
  })
})

describe('a layer that is called with training=True', () => {
  const nodes = { inbound_nodes: [{ args: [{}], kwargs: { training: true } }] }
  const older = { inbound_nodes: [[['x', 0, 0, { training: true }]]] }
  const refusals = (...layers: readonly Json[]) => describedLayers('made', model(layers)).map(({ refusal }) => refusal)

  it('is refused where it has dropout, which is then drawn in inference', () => {
    const drawn = expect.stringContaining('training=True')
    for (const call of [nodes, older]) {
      expect(refusals(lstm('own', { dropout: 0.5 }, call))).toEqual([drawn])
      expect(refusals(lstm('own', { recurrent_dropout: 0.5 }, call))).toEqual([drawn])
      const cell = layer('LSTMCell', { ...UNITS, dropout: 0.5 })
      expect(refusals(layer('RNN', { name: 'rnn', cell }, call))).toEqual([drawn])
    }
  })

  it('is refused within a wrapper or a model that is called so', () => {
    const drawn = expect.stringContaining('training=True')
    const own = lstm('own', { dropout: 0.5 })
    expect(refusals(layer('Bidirectional', { name: 'b', layer: own }, nodes))).toEqual([drawn])
    expect(refusals(layer('TimeDistributed', { name: 't', layer: own }, nodes))).toEqual([drawn])
    expect(refusals({ ...model([own], 'Functional', { name: 'm' }), ...nodes })).toEqual([drawn])
  })

  it('is taken where it has no dropout, or is called otherwise', () => {
    expect(refusals(lstm('own', { dropout: 0 }, nodes))).toEqual([undefined])
    const other = { inbound_nodes: [{ args: [{}], kwargs: { training: false } }] }
    expect(refusals(lstm('own', { dropout: 0.5 }, other))).toEqual([undefined])
    expect(refusals(lstm('own', { dropout: 0.5 }))).toEqual([undefined])
  })
})

describe('importWeights of a file that describes its model', () => {
  it('takes the variables of each layer from its own place', async () => {
    const layers = [lstm('first'), layer('Dense'), lstm('second')]
    const shapes = { ...cells(4, 'layers/lstm_1/cell', 'layers/lstm/cell'), 'layers/dense/vars/0': [1, 1] }
    const { networks, unusedTensors } = await importOf(shapes, model(layers))
    expect(networks.map(({ name, tensorNames }) => [name, tensorNames[0]])).toEqual([
      ['first', 'layers/lstm/cell/vars/0'],
      ['second', 'layers/lstm_1/cell/vars/0'],
    ])
    expect(unusedTensors.map(({ name }) => name)).toEqual(['layers/dense/vars/0'])
  })

  it('takes older variables by the group of their layer, those of frozen cells last', async () => {
    const layers = [model([lstm('frozen', { trainable: false }), lstm('free')], 'Sequential', { name: 'inner' })]
    const prefix = 'model_weights/inner/inner'
    const shapes = named(4, `${prefix}/free/lstm_cell`, `${prefix}/frozen/lstm_cell`)
    const { networks } = await importOf(shapes, model(layers))
    expect(networks.map(({ name, tensorNames }) => [name, tensorNames[0]])).toEqual([
      ['inner/frozen', `${prefix}/frozen/lstm_cell/kernel:0`],
      ['inner/free', `${prefix}/free/lstm_cell/kernel:0`],
    ])
  })

  it('refuses a layer whose variables are missing, and those that no layer has', async () => {
    const refused = (shapes: Shapes, layers: readonly Json[]) => importOf(shapes, model(layers))
    await expect(refused({}, [lstm('own')])).rejects.toThrow(coded('ERR_WEIGHTS_OTHER_FUNCTION'))
    await expect(refused(named(4, 'own/own/a', 'own/own/b'), [lstm('own')])).rejects.toThrow(/1 cells.*has 2/)
    await expect(refused(cells(4, 'layers/lstm/cell'), [layer('Dense')])).rejects.toThrow('does not describe it')
    await expect(refused(named(4, 'own/own/cell'), [layer('Dense')])).rejects.toThrow('does not describe it')
  })

  it('refuses two layers of one place: a layer that two models share', async () => {
    const shapes = cells(4, 'layers/lstm/cell')
    await expect(importOf(shapes, model([lstm('one'), lstm('two')]))).rejects.toThrow('stored in one')
    const { networks } = await importOf(shapes, model([lstm('one'), lstm('two')]), { only: ['one'] })
    expect(networks.map(({ name }) => name)).toEqual(['one'])
  })

  it.each<[string, Json, number, string]>([
    ['another activation', lstm('own', { activation: 'softmax' }), 4, 'activation must be one of '],
    ['a custom activation', lstm('own', { activation: { class_name: 'mine' } }), 4, 'a custom function'],
    ["a function of ONNX's", layer('GRU', { ...UNITS, activation: 'affine' }), 3, 'current value is "affine"'],
    ['an unknown cell', layer('RNN', { name: 'own', cell: layer('MinimalRNNCell', UNITS) }), 4, 'MinimalRNNCell'],
    [
      'an option that is not read',
      lstm('own', { rank: 4 }),
      4,
      'an option that is not known here, rank: current value is 4',
    ],
    [
      'such an option of a cell',
      layer('RNN', { name: 'own', cell: layer('LSTMCell', { ...UNITS, rank: 4 }) }),
      4,
      'not known here, rank',
    ],
    ['other units', lstm('own', { units: 2 }), 4, 'those of 2 units'],
    ['a wrapper', layer('Residual', { layer: lstm('own') }), 4, 'within a Residual'],
    ['a convolution', layer('ConvLSTM1D', { ...UNITS, name: 'own' }), 4, 'convolves its input'],
  ])('refuses %s', async (_, described, gates, message) => {
    const place = {
      GRU: 'layers/gru/cell',
      RNN: 'layers/rnn/cell',
      Residual: 'layers/residual/layer/cell',
      ConvLSTM1D: 'layers/conv_lstm1d/cell',
    }[String(described['class_name'])]
    await expect(importOf(cells(gates, place ?? 'layers/lstm/cell'), model([described]))).rejects.toThrow(
      coded('ERR_WEIGHTS_OTHER_FUNCTION', { message: expect.stringContaining(message) }),
    )
  })

  const sides = ['layers/bidirectional/forward_layer/cell', 'layers/bidirectional/backward_layer/cell'] as const
  const both = (more: Json, forward = lstm('f'), backward?: Json) =>
    layer('Bidirectional', { name: 'both', layer: forward, ...(backward && { backward_layer: backward }), ...more })

  it.each<[string, Json, Shapes, string]>([
    ['another merge_mode', both({ merge_mode: 'sum' }), cells(4, ...sides), 'merge_mode must be concat'],
    ['both outputs separately', both({ merge_mode: null }), cells(4, ...sides), 'merge_mode must be concat'],
    [
      'a forward layer that goes backwards',
      both({}, lstm('f', { go_backwards: true })),
      cells(4, ...sides),
      'go_backwards',
    ],
    ['a backward layer that does not', both({}, lstm('f'), lstm('b')), cells(4, ...sides), 'go_backwards'],
    [
      'two kinds of cells',
      both({}, lstm('f'), plain('b', { go_backwards: true })),
      { ...cells(4, sides[0]), ...cells(1, sides[1]) },
      'differ in cellMode',
    ],
    [
      'sides of other units',
      both({}, lstm('f'), lstm('b', { go_backwards: true, units: 2 })),
      { ...cells(4, sides[0]), [`${sides[1]}/vars/0`]: [1, 8], [`${sides[1]}/vars/1`]: [2, 8] },
      'differ in units',
    ],
  ])('refuses a Bidirectional of %s', async (_, described, shapes, message) => {
    await expect(importOf(shapes, model([described]))).rejects.toThrow(
      coded('ERR_WEIGHTS_OTHER_FUNCTION', { message: expect.stringContaining(message) }),
    )
  })

  it('imports a Bidirectional whose sides are of tanh and of relu as two cells', async () => {
    const described = both({}, plain('f'), plain('b', { activation: 'relu', go_backwards: true }))
    await expect(importOf(cells(1, ...sides), model([described]))).rejects.toThrow('differ in cellMode')
    const mixed = both({}, lstm('f'), lstm('b', { activation: 'relu', go_backwards: true }))
    const { cells: imported, networks } = await importOf(cells(4, ...sides), model([mixed]))
    expect(networks).toEqual([])
    expect(imported).toMatchObject([
      { name: 'both/forward', cell: 'LSTMBlockCell', reverse: false },
      { name: 'both/backward', cell: 'LSTMCell', options: { activation: 'relu' }, reverse: true },
    ])
  })

  it('imports an LSTM of relu as a cell that computes it', async () => {
    const { cells: imported } = await importOf(
      cells(4, 'layers/lstm/cell'),
      model([lstm('own', { activation: 'relu' })]),
    )
    expect(imported).toMatchObject([{ name: 'own', cell: 'LSTMCell', options: { activation: 'relu', forgetBias: 0 } }])
    // Every element of the kernel is 1, of the recurrent kernel 2, of the bias 3: from zeros each gate sees 1·x + 3.
    const x = -2.5
    const gate = 1 / (1 + Math.exp(-(x + 3)))
    const c = gate * Math.max(0, x + 3)
    const { output } = runCell(only(imported), { data: [x], shape: [1, 1, 1] })
    expect(output.data[0]).toBeCloseTo(gate * Math.max(0, c), 7)
  })

  it('reads hard_sigmoid as the version that wrote the file means it, and refuses it in an archive without one', async () => {
    const described = model([lstm('own', { activation: 'swish', recurrent_activation: 'hard_sigmoid' })])
    const imported = (more: Partial<WeightFile>) =>
      importWeights(fileOf(cells(4, 'layers/lstm/cell'), described, { format: 'keras-archive', ...more }))
    await expect(imported({})).rejects.toThrow(/a file without a version/)
    const options = async (kerasVersion: string) => (await imported({ kerasVersion })).cells[0]?.options
    const own = { activation: 'silu', forgetBias: 0, usePeepholes: false }
    expect(await options('2.12.0')).toEqual({ ...own, recurrentActivation: 'hard_sigmoid' })
    expect(await options('3.0.1')).toEqual({ ...own, recurrentActivation: { name: 'hard_sigmoid', alpha: 1 / 6 } })
  })

  it('gives options that are left out the defaults of the version, and refuses one whose default has changed', async () => {
    const described = model([layer('LSTM', { name: 'own', units: 1 })])
    const imported = (kerasVersion: string) =>
      importWeights(fileOf(cells(4, 'layers/lstm/cell'), described, { format: 'keras-archive', kerasVersion }))
    expect(only((await imported('3.0.1')).networks).descriptor.cellMode).toBe('lstm')
    await expect(imported('2.12.0')).rejects.toThrow(/recurrent_activation must be in the description/)
  })

  it('refuses biases that the description denies', async () => {
    const described = model([lstm('own', { use_bias: false })])
    await expect(importOf(cells(4, 'layers/lstm/cell'), described)).rejects.toThrow(/use_bias must be true/)
  })

  it('imports each cell of a stack as a network, with the order in its notes', async () => {
    const stacked = layer('StackedRNNCells', {
      cells: [layer('LSTMCell', { name: 'a', ...UNITS }), layer('LSTMCell', { name: 'b', ...UNITS })],
    })
    const places = ['layers/rnn/cell/cells/lstm_cell', 'layers/rnn/cell/cells/lstm_cell_1']
    const described = (config: Json, ...before: readonly Json[]) =>
      model([...before, layer('RNN', { name: 'rnn', cell: stacked, ...config })])
    const { networks } = await importOf(cells(4, ...places), described({ go_backwards: true }))
    expect(
      networks.map(({ name, reverse, outputReversed, notes }) => ({ name, reverse, outputReversed, notes })),
    ).toEqual([
      { name: 'rnn/a', reverse: true, outputReversed: true, notes: [] },
      { name: 'rnn/b', reverse: false, outputReversed: undefined, notes: ['Its input is the output of rnn/a.'] },
    ])
    const masked = described({ go_backwards: true }, layer('Masking', { name: 'mask' }))
    await expect(importOf(cells(4, ...places), masked)).rejects.toThrow('stacked, go backwards and are masked')
    const twice = layer('Bidirectional', {
      layer: layer('RNN', { cell: stacked }),
      backward_layer: layer('RNN', { cell: stacked, go_backwards: true }),
    })
    const shapes = cells(
      4,
      ...['forward', 'backward'].flatMap((side) =>
        ['lstm_cell', 'lstm_cell_1'].map((own) => `layers/bidirectional/${side}_layer/cell/cells/${own}`),
      ),
    )
    await expect(importOf(shapes, model([twice]))).rejects.toThrow('StackedRNNCells in each direction')
  })

  it('notes the settings that a network does not have: carried states, dropout, absent biases', async () => {
    const described = lstm('own', { stateful: true, dropout: 0.5, recurrent_dropout: 0.1, use_bias: false })
    const { [`layers/lstm/cell/vars/2`]: _, ...shapes } = cells(4, 'layers/lstm/cell')
    const { notes } = only((await importOf(shapes, model([described]))).networks)
    expect(notes).toEqual([
      expect.stringContaining('stateful'),
      expect.stringContaining('dropout and recurrent_dropout'),
      'Biases are absent and were taken as zeros.',
    ])
    const [wrapped] = (
      await importOf(
        cells(4, 'layers/time_distributed/layer/cell'),
        model([layer('TimeDistributed', { name: 't', layer: lstm('own') })]),
      )
    ).networks
    expect(wrapped).toMatchObject({ name: 't', notes: [expect.stringContaining('every slice along axis 1')] })
  })

  it('reads a GRU by its own description, and by its bias where that has no reset_after', async () => {
    const gru = (config: Json) => model([layer('GRU', { name: 'own', ...UNITS, ...config })])
    const flat = cells(3, 'layers/gru/cell')
    const split = { ...flat, 'layers/gru/cell/vars/2': [2, 3] }
    expect((await importOf(split, gru({ reset_after: true }))).networks).toHaveLength(1)
    expect((await importOf(split, gru({}))).networks).toHaveLength(1)
    expect((await importOf(flat, gru({ reset_after: false }))).cells).toMatchObject([{ cell: 'GRUBlockCell' }])
    expect((await importOf(flat, gru({}))).cells).toMatchObject([{ cell: 'GRUBlockCell' }])
    const { 'layers/gru/cell/vars/2': _, ...unbiased } = flat
    expect((await importOf(unbiased, gru({ reset_after: true }))).networks).toHaveLength(1)
    const written = (kerasVersion: string) => {
      return importWeights(fileOf(unbiased, gru({ use_bias: false }), { format: 'keras-archive', kerasVersion }))
    }
    expect((await written('3.0.1')).networks).toHaveLength(1)
    expect((await written('2.1.2')).cells).toMatchObject([{ cell: 'GRUBlockCell' }])
  })

  it('computes with the elements of its variables', async () => {
    const { networks } = await importOf(cells(1, 'layers/simple_rnn/cell'), model([plain('own')]))
    const { output } = await compute(only(networks), { data: [-2.5, 0.5], shape: [2, 1, 1] })
    // Kernel 1, recurrent kernel 2, bias 3.
    const first = Math.tanh(-2.5 + 3)
    expect(output.data[0]).toBeCloseTo(first, 9)
    expect(output.data[1]).toBeCloseTo(Math.tanh(0.5 + 2 * first + 3), 9)
  })
})

describe('importWeights of a file of weights alone', () => {
  const names = async (shapes: Shapes, more: Partial<WeightFile> = {}) =>
    (await importWeights(fileOf(shapes, undefined, more))).networks.map(({ name }) => name)

  it('names networks by their layers, or as the file names its objects', async () => {
    const shapes = cells(4, 'layers/lstm/cell', 'layers/sequential/layers/lstm/cell')
    expect(await names(shapes)).toEqual(['lstm', 'sequential/lstm'])
    const kerasNames = new Map([
      ['layers/lstm', 'top'],
      ['layers/sequential', 'inner'],
      ['layers/sequential/layers/lstm', 'deep'],
    ])
    expect(await names(shapes, { kerasNames })).toEqual(['top', 'inner/deep'])
    expect(await names(named(4, 'first/net/first/lstm_cell', 'second/second'))).toEqual(['first', 'second'])
  })

  it('keeps two layers of one group apart, also where their cells have one name', async () => {
    expect(await names(named(4, 'encoder/lstm/lstm_cell', 'encoder/lstm_1/lstm_cell_1'))).toEqual([
      'encoder/lstm_cell',
      'encoder/lstm_cell_1',
    ])
    const repeated = await names(named(4, 'encoder/lstm/lstm_cell', 'encoder/lstm_1/lstm_cell'))
    expect(repeated).toEqual(['encoder/lstm_cell', 'encoder/lstm_1/lstm_cell'])
  })

  it('reads both sides of a Bidirectional as one network, and a backward side alone as reversed', async () => {
    const sides = ['layers/bidirectional/forward_layer/cell', 'layers/bidirectional/backward_layer/cell']
    const { networks } = await importOf(cells(4, ...sides))
    expect(networks).toMatchObject([
      { name: 'bidirectional', descriptor: { direction: 'bidirectional' }, reverse: false },
    ])
    const [alone] = (await importOf(cells(4, sides[1]!))).networks
    expect(alone).toMatchObject({ descriptor: { direction: 'unidirectional' }, reverse: true })
    const older = await importOf(named(4, 'both/both/forward_lstm/lstm_cell', 'both/both/backward_lstm/lstm_cell'))
    expect(older.networks).toMatchObject([{ name: 'both', descriptor: { direction: 'bidirectional' } }])
  })

  it('keeps the sides of two Bidirectional in one group together, although every cell has its own name', async () => {
    const places = ['', '_1'].flatMap((number, index) =>
      ['forward', 'backward'].map((side, second) => {
        return `encoder/bidirectional${number}/${side}_lstm${number}/lstm_cell_${2 * index + second + 1}`
      }),
    )
    for (const own of [places, places.map((place) => `model_weights/${place}`)]) {
      const { networks } = await importOf(named(4, ...own))
      expect(networks).toMatchObject([
        { descriptor: { direction: 'bidirectional' }, reverse: false },
        { descriptor: { direction: 'bidirectional' }, reverse: false },
      ])
    }
    expect(await names(named(4, ...places))).toEqual(['encoder/bidirectional', 'encoder/bidirectional_1'])
    const [, backward] = places as [string, string]
    const [alone, plain] = (await importOf(named(4, backward, 'encoder/lstm/lstm_cell'))).networks
    expect([alone, plain]).toMatchObject([
      { descriptor: { direction: 'unidirectional' }, reverse: true },
      { descriptor: { direction: 'unidirectional' }, reverse: false },
    ])
  })

  it('recognizes cells by the width of their recurrent kernel, and leaves other tensors unused', async () => {
    expect((await importOf(cells(4, 'layers/lstm/cell'))).networks[0]?.descriptor.cellMode).toBe('lstm')
    const before = await importOf(cells(3, 'layers/gru/cell'))
    expect(before.cells).toMatchObject([{ cell: 'GRUBlockCell' }])
    const after = await importOf({ ...cells(3, 'layers/gru/cell'), 'layers/gru/cell/vars/2': [2, 3] })
    expect(after.networks).toMatchObject([{ descriptor: { cellMode: 'gru' } }])
    for (const wrong of [cells(2, 'layers/x/cell'), { 'layers/x/cell/vars/1': [1, 4] }]) {
      const { networks, unusedTensors } = await importOf(wrong)
      expect(networks).toEqual([])
      expect(unusedTensors).toHaveLength(Object.keys(wrong).length)
    }
  })

  it('recognizes the layers of CuDNN by their two biases', async () => {
    const shapes = { ...named(4, 'rnn/rnn'), 'rnn/rnn/bias:0': [8] }
    expect((await importOf(shapes)).networks).toMatchObject([{ convention: 'keras-cudnn', notes: [] }])
  })

  it('requires a description of a GRU without biases, and the cell of a SimpleRNN', async () => {
    const { 'layers/gru/cell/vars/2': _, ...unbiased } = cells(3, 'layers/gru/cell')
    await expect(importOf(unbiased)).rejects.toThrow(coded('ERR_WEIGHTS_AMBIGUOUS'))
    const shapes = cells(1, 'layers/simple_rnn/cell')
    await expect(importOf(shapes)).rejects.toThrow(coded('ERR_WEIGHTS_AMBIGUOUS', { decidedBy: ['cellMode'] }))
    for (const cellMode of ['rnn_tanh', 'rnn_relu'] as const)
      expect((await importOf(shapes, undefined, { cellMode })).networks).toMatchObject([{ descriptor: { cellMode } }])
  })
})
