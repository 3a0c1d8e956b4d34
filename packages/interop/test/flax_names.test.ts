import { describe, expect, it } from 'vitest'
import { flaxInterpretations } from '../src/networks/flax_names.js'
import { SharedParameters } from '../src/networks/shared_parameters.js'
import type { StoredTensor } from '../src/stored_tensor.js'

/** Tensors by name and shape, of ones. */
const tensorsOf = (shapes: Readonly<Record<string, readonly number[]>>): StoredTensor[] =>
  Object.entries(shapes).map(([name, shape]) => ({
    ...{ name, shape, dtype: 'float32' },
    read: async () => new Float32Array(shape.reduce((product, size) => product * size, 1)).fill(1),
  }))

/** A cell of H units over inputs of 3: kernels of the input side without biases, of the recurrent side with them. */
function cell(prefix: string, gates: readonly string[], units: number, separator = '/') {
  const sides = gates.flatMap((gate): [string, readonly number[]][] => [
    [[`i${gate}`, 'kernel'].join(separator), [3, units]],
    [[`h${gate}`, 'kernel'].join(separator), [units, units]],
    [[`h${gate}`, 'bias'].join(separator), [units]],
  ])
  return Object.fromEntries(sides.map(([name, shape]) => [`${prefix}${name}`, shape]))
}

const interpretationsOf = (tensors: StoredTensor[]) => flaxInterpretations({ path: 'made', tensors })

const LSTM = ['i', 'f', 'g', 'o']

describe('flaxInterpretations', () => {
  it.each([
    ['an LSTM by its forget gate', LSTM, ['lstm']],
    ['a GRU by its update gate', ['r', 'z', 'n'], ['gru']],
    ['a SimpleCell as either of two, whose activation is not stored', [''], ['rnn_tanh', 'rnn_relu']],
  ])('takes %s', (_, gates, modes) => {
    const found = interpretationsOf(tensorsOf(cell('cell/', gates, 2)))
    expect(found.map(({ cellMode }) => cellMode)).toEqual(modes)
    for (const { name, convention, tensors } of found) {
      expect([name, convention, tensors.length]).toEqual(['cell', 'flax', 3 * gates.length])
    }
  })

  it('states sizes and gates in words, by which a caller chooses', () => {
    const [found] = interpretationsOf(tensorsOf(cell('', LSTM, 2)))
    expect(found?.name).toBe('')
    expect(found?.summary).toMatch(/^flax lstm \(gates .*\), 1 × 2 units, input 3$/)
  })

  it('finds cells under paths with slashes or dots, each a separate network', async () => {
    const file = { ...cell('params/encoder/', LSTM, 2), ...cell('params.decoder.', LSTM, 4, '.'), 'params/bias': [3] }
    const found = interpretationsOf(tensorsOf(file))
    expect(found.map(({ name }) => name)).toEqual(['params/encoder', 'params.decoder'])
    const shared = new SharedParameters([])
    const results = (await Promise.all(found.map(({ result }) => result(shared)))).flat()
    const networks = results.filter((result) => 'descriptor' in result)
    expect(
      networks.map(({ descriptor: { numUnits, inputSize, numLayers } }) => [numUnits, inputSize, numLayers]),
    ).toEqual([
      [2, 3, 1],
      [4, 3, 1],
    ])
    // Flax has one bias of each gate, which both sides of the network share.
    const { biases } = networks[0]!.canonical
    const sums = LSTM.map((_, gate) => biases[gate]!.data.map((value, unit) => value + biases[gate + 4]!.data[unit]!))
    expect(sums).toEqual(LSTM.map(() => Float32Array.of(1, 1)))
  })

  it('takes the values of variables of nnx', () => {
    const variables = Object.entries(cell('cells/0/', LSTM, 2)).map(([name, shape]) => [`${name}/raw_value`, shape])
    expect(interpretationsOf(tensorsOf(Object.fromEntries(variables))).map(({ name }) => name)).toEqual(['cells/0'])
  })

  it.each([
    ['no cell', { 'Dense_0/kernel': [3, 2], 'Dense_0/bias': [2] }],
    ['the recurrent side alone', { 'hf/kernel': [2, 2], 'hf/bias': [2] }],
    ['the input side alone', { 'if/kernel': [3, 2] }],
    ['kernels that are not matrices', { 'if/kernel': [3, 2, 1], 'hf/kernel': [2, 2] }],
    ['longer names that end likewise', { 'xhf/kernel': [2, 2], 'xif/kernel': [3, 2] }],
  ])('finds none in %s', (_, shapes) => {
    expect(interpretationsOf(tensorsOf(shapes))).toEqual([])
  })

  it.each<[string, Readonly<Record<string, readonly number[]>>, (string | undefined)[]]>([
    [
      'two sides or layers',
      { ...cell('C_0/', LSTM, 2), ...cell('C_1/', LSTM, 2) },
      [undefined, 'unidirectional', 'bidirectional'],
    ],
    [
      'a second layer',
      { ...cell('C_0/', LSTM, 2), 'C_1/if/kernel': [2, 2], 'C_1/hf/kernel': [2, 2] },
      [undefined, undefined],
    ],
    ['cells of other classes', { ...cell('A_0/', LSTM, 2), ...cell('B_1/', LSTM, 2) }, [undefined, undefined]],
  ])('reads %s in the directions that they may have', (_, shapes, directions) => {
    expect(interpretationsOf(tensorsOf(shapes)).map(({ direction }) => direction)).toEqual(directions)
  })

  it('refuses a cell with gates of another class, such as MGUCell', async () => {
    const [found] = interpretationsOf(tensorsOf(cell('MGUCell_0/', ['f', 'n'], 2)))
    await expect(found?.result(new SharedParameters([]))).rejects.toThrow(
      /MGUCell_0 as its tensors must be .* it has in\/kernel, too/,
    )
  })

  it.each<[string, (cell: Record<string, readonly number[]>) => Record<string, readonly number[]>]>([
    ['a cell without its telling gate', ({ 'c/hf/kernel': _, ...others }) => others],
    [
      'the cells that nn.scan stacks',
      (cell) => Object.fromEntries(Object.entries(cell).map(([name, shape]) => [name, [2, ...shape]])),
    ],
  ])('refuses %s, which an empty list would hide', async (_, change) => {
    const [found, ...others] = interpretationsOf(
      tensorsOf({ 'Dense_0/kernel': [3, 2], ...change(cell('c/', LSTM, 2)) }),
    )
    expect(others).toEqual([])
    await expect(found?.result(new SharedParameters([]))).rejects.toThrow(/Cannot import c as .* all matrices of/)
  })
})
