import { tensorflowLayout } from '@cudnn-rnn/canonical'
import {
  BasicRNNCell,
  CudnnCompatibleGRUCell,
  CudnnCompatibleLSTMCell,
  dynamicRnn,
  MultiRNNCell,
  stackBidirectionalDynamicRnn,
} from '@cudnn-rnn/cells'
import { openCheckpoint, writeCheckpoint } from '@cudnn-rnn/checkpoint'
import { CudnnLSTM, type Variable } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  CudnnParamsFormatConverterGRU,
  CudnnParamsFormatConverterLSTM,
  CudnnParamsFormatConverterRelu,
  CudnnParamsFormatConverterTanh,
  RNNParamsSaveable,
  Saver,
} from '../src/index.js'
import { cells, cellValues, type Mode, type Run, waves } from './scenario_models.js'
import { build, type Case, MODELS, temporaryPrefix } from './small_models.js'

const MODES = Object.keys(MODELS) as Mode[]

const exact = ({ model, params }: Run, name?: string, variable: Variable = params) =>
  new RNNParamsSaveable(model.paramsToCanonical, model.canonicalToParams, [variable], name)

interface AnyModel {
  call(...args: unknown[]): Promise<{ output: { read(): Promise<{ data: Float32Array }> }; tape: never }>
  gradients(tape: never, gradients: object): Promise<{ params: never }>
}

const anyModel = ({ model }: Run) => model as unknown as AnyModel
const statesOf = ({ model }: Run) => (model.rnnMode === 'lstm' ? [null, null] : [null])

async function outputOf(run: Run, input: ReturnType<typeof waves>): Promise<Float32Array> {
  const { output } = await anyModel(run).call(input, ...statesOf(run), run.params, { isTraining: false })
  return (await output.read()).data
}

const zero = ({ params }: Run) => params.assign({ data: new Float32Array(params.shape[0]!), shape: params.shape })

describe('testSaveRestoreOutput: the output is equal bit for bit after save, zero and restore', () => {
  it.each(MODES)('%s', async (model) => {
    const run = build({ model, numLayers: 2, numUnits: 7, inputSize: 7 })
    const input = waves(10, 5, 7)
    const before = await outputOf(run, input)
    const saver = new Saver([exact(run)])
    const prefix = await saver.save(await temporaryPrefix())
    zero(run)
    expect(await outputOf(run, input)).not.toEqual(before)
    await saver.restore(prefix)
    expect(await outputOf(run, input)).toEqual(before)
  })
})

describe.each(MODES)('CudnnRnnSaveRestoreTest %s', (model) => {
  it.each(['unidirectional', 'bidirectional'] as const)('testSaveRestoreMultipleVariables, %s', async (direction) => {
    const options: Case = { model, ...(direction === 'bidirectional' ? { direction } : {}) }
    const [one, other] = [build(options, 1), build(options, 2)]
    const saver = new Saver([cells(model, one, 'rnn_1', 'one'), cells(model, other, 'rnn_2', 'other')])
    const before = [await cellValues(one), await cellValues(other)]
    const prefix = await saver.save(await temporaryPrefix())
    zero(one)
    zero(other)
    await saver.restore(prefix)
    expect([await cellValues(one), await cellValues(other)]).toEqual(before)
  })
})

describe.each(MODES)('testCudnnCompatibleRnnCells %s', (mode) => {
  const CELLS = {
    CudnnLSTM: (units: number) => new CudnnCompatibleLSTMCell(units),
    CudnnGRU: (units: number) => new CudnnCompatibleGRUCell(units),
    CudnnRNNRelu: (units: number) => new BasicRNNCell(units, { activation: 'relu' }),
    CudnnRNNTanh: (units: number) => new BasicRNNCell(units),
  }
  // L, T, U, I, B of TensorFlow's test.
  const CONFIGS = [
    [1, 3, 4, 5, 6],
    [2, 8, 4, 8, 16],
    [2, 3, 4, 5, 6],
    [1, 2, 2, 4, 1],
  ] as const
  const each = CONFIGS.flatMap((config) => ['unidirectional', 'bidirectional'].map((direction) => [config, direction]))

  it.each(each as [(typeof CONFIGS)[number], 'unidirectional' | 'bidirectional'][])(
    'after 128 steps of SGD, [L,T,U,I,B] = %j, %s',
    async ([L, T, U, I, B], direction) => {
      const sizes = { numLayers: L, numUnits: U, inputSize: I }
      const run = build({ model: mode, ...sizes, ...(direction === 'bidirectional' ? { direction } : {}) })
      const input = waves(T, B, I)
      const ones = {
        data: new Float32Array(T * B * U * run.model.numDirs).fill(1),
        shape: [T, B, U * run.model.numDirs],
      }
      for (let step = 0; step < 128; step++) {
        const { tape } = await anyModel(run).call(input, ...statesOf(run), run.params)
        const { params } = await anyModel(run).gradients(tape, { output: ones })
        run.model.backend.ops.update('sgd', run.params.value, [], params, { learningRate: 1e-4 })
      }
      const prefix = await new Saver([cells(mode, run)]).save(await temporaryPrefix())
      const reader = await openCheckpoint(prefix)
      const stack = async (scope: string) => {
        const made = Array.from({ length: L }, () => CELLS[mode](U))
        for (const [layer, cell] of made.entries()) {
          const prefixOfCell = new RegExp(`^${scope.replace('%d', String(layer))}/[a-z_]+/`)
          const variables: Record<string, unknown> = {}
          for (const key of reader.names().filter((name) => prefixOfCell.test(name)))
            variables[key.replace(prefixOfCell, '')] = await reader.read(key)
          cell.setVariables(variables as never)
        }
        return made as never[]
      }
      const side = 'stack_bidirectional_rnn/cell_%d/bidirectional_rnn'
      const how = { timeMajor: true, training: false } as never
      const { outputs } = (
        direction === 'bidirectional'
          ? stackBidirectionalDynamicRnn(await stack(`${side}/fw`), await stack(`${side}/bw`), input, how)
          : dynamicRnn(new MultiRNNCell(await stack('rnn/multi_rnn_cell/cell_%d')) as never, input, how)
      ) as { outputs: { data: Float32Array } }
      await reader.close()
      const trained = await outputOf(run, input)
      expect(outputs.data.length).toBe(trained.length)
      // TensorFlow's tolerance for these is 1e-4; outputs of relu grow beyond 1.
      for (const [index, value] of trained.entries()) {
        expect(Math.abs(outputs.data[index]! - value)).toBeLessThan(2e-6 * Math.max(1, Math.abs(value)))
      }
    },
  )
})

it.each([1, 3])('testTrackable: cells of %i layers are restored into CudnnLSTM, which computes the same', async (L) => {
  const cell = new MultiRNNCell(Array.from({ length: L }, () => new CudnnCompatibleLSTMCell(2)) as never)
  const run = build({ model: 'CudnnLSTM', numLayers: L, numUnits: 2, inputSize: 3 })
  const shapes = tensorflowLayout(run.model.descriptor).groups
  const variables = shapes.flatMap((group, layer) =>
    Object.entries(group.shapes).map(
      ([name, shape]) => [`cell_${layer}/cudnn_compatible_lstm_cell/${name}`, waves(...shape)] as const,
    ),
  )
  cell.setVariables(Object.fromEntries(variables) as never)
  const prefix = await temporaryPrefix()
  await writeCheckpoint(
    prefix,
    variables.map(([name, tensor]) => [`rnn/multi_rnn_cell/${name}`, tensor] as const),
  )
  await new Saver([cells('CudnnLSTM', run)]).restore(prefix)
  const input = waves(4, 2, 3)
  const { outputs } = dynamicRnn(cell as never, input, { timeMajor: true, training: false } as never) as {
    outputs: { data: Float32Array }
  }
  const actual = await outputOf(run, input)
  for (const [index, value] of outputs.data.entries()) expect(Math.abs(actual[index]! - value)).toBeLessThan(1e-6)
})

it('testSaveableGraphDeviceAssignment: constants 3.14 and 1.59 are restored', async () => {
  const lstm = new CudnnLSTM(openReferenceBackend(), { numLayers: 2, numUnits: 3, inputSize: 4 })
  const params = lstm.createParams({ kernelInitializer: 3.14, biasInitializer: 1.59 })
  const saveable = new RNNParamsSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [params])
  const saver = new Saver([saveable])
  const prefix = await saver.save(await temporaryPrefix())
  params.assign({ data: new Float32Array(params.shape[0]!), shape: params.shape })
  await saver.restore(prefix)
  const { weights, biases } = await lstm.paramsToCanonical(params)
  expect(new Set(weights.flatMap(({ data }) => [...data]))).toEqual(new Set([Math.fround(3.14)]))
  expect(new Set(biases.flatMap(({ data }) => [...data]))).toEqual(new Set([Math.fround(1.59)]))
})

it('testRepeatedlyCreateCustomSaveable: a second saveable of the same variables is refused', async () => {
  const run = build({ model: 'CudnnGRU' })
  expect(() => new Saver([cells('CudnnGRU', run), cells('CudnnGRU', run)])).toThrow(coded('ERR_DUPLICATE_SAVEABLE'))
})

describe('CudnnParamsFormatConverterTest: cells to canonical tensors and back are exact', () => {
  const sizes = { numLayers: 2, numUnits: 5, inputSize: 3 }
  it.each([
    ['LSTM', CudnnParamsFormatConverterLSTM, {}],
    ['LSTM with projection', CudnnParamsFormatConverterLSTM, { numProj: 2 }],
    ['GRU', CudnnParamsFormatConverterGRU, {}],
    ['tanh', CudnnParamsFormatConverterTanh, {}],
    ['relu', CudnnParamsFormatConverterRelu, {}],
  ])('%s', (_, Converter, more) => {
    for (const direction of ['unidirectional', 'bidirectional'] as const) {
      const converter = new Converter({ ...sizes, ...more, direction })
      const tfCells = tensorflowLayout(converter.descriptor).groups.map(({ shapes }) =>
        Object.fromEntries(Object.entries(shapes).map(([name, shape]) => [name, waves(...shape)])),
      )
      expect(converter.canonicalToTfCells(converter.tfCellsToCanonical(tfCells))).toEqual(tfCells)
    }
  })
})
