import { canonicalToTensorflow, elementCount, tensorflowLayout } from '@cudnn-rnn/canonical'
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
  CudnnGRUSaveable,
  CudnnLSTMSaveable,
  CudnnParamsFormatConverterGRU,
  CudnnParamsFormatConverterLSTM,
  CudnnParamsFormatConverterRelu,
  CudnnParamsFormatConverterTanh,
  CudnnRNNReluSaveable,
  CudnnRNNTanhSaveable,
  RNNParamsSaveable,
  Saver,
} from '../src/index.js'
import { openReversedLayoutBackend } from './reversed_layout_backend.js'
import { build, type Case, MODELS, temporaryPrefix, valuesOf } from './small_models.js'

// The saving scenarios of TensorFlow's own tests, and problems of users of tf.contrib.cudnn_rnn, by name.

type Run = ReturnType<typeof build>
type Mode = keyof typeof MODELS

const MODES = Object.keys(MODELS) as Mode[]
const SAVEABLES = {
  CudnnLSTM: CudnnLSTMSaveable,
  CudnnGRU: CudnnGRUSaveable,
  CudnnRNNRelu: CudnnRNNReluSaveable,
  CudnnRNNTanh: CudnnRNNTanhSaveable,
}

const exact = ({ model, params }: Run, name?: string, variable: Variable = params) =>
  new RNNParamsSaveable(model.paramsToCanonical, model.canonicalToParams, [variable], name)
const cells = (mode: Mode, { model, params }: Run, scope?: string, name?: string) =>
  new SAVEABLES[mode](model.paramsToCanonical, model.canonicalToParams, [params], { scope, name })

const waves = (...shape: number[]) => {
  const length = elementCount(shape)
  return { data: Float32Array.from({ length }, (_, index) => Math.sin(index + length)), shape }
}

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

/** Weights as they are, biases as sums of both sides, which is all that TensorFlow's cells hold. */
async function cellValues({ model, params }: Run) {
  const variables = canonicalToTensorflow(model.descriptor, await model.paramsToCanonical(params))
  return variables.map((cell) => Object.entries(cell).map(([name, { data }]) => [name, [...data]]))
}

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

describe('trap', () => {
  it('2: columns of a saved LSTM kernel are in the order i, c, f, o, not cuDNN’s i, f, c, o', async () => {
    const run = build({ model: 'CudnnLSTM', numLayers: 1, numUnits: 2, inputSize: 3 })
    const { weights } = await run.model.paramsToCanonical(run.params)
    const kernel = (await cells('CudnnLSTM', run).tensors('default')).get(
      'rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/kernel',
    )!
    expect(kernel.shape).toEqual([3 + 2, 4 * 2])
    for (const [block, gate] of [0, 2, 1, 3].entries()) {
      for (let unit = 0; unit < 2; unit++) {
        for (let row = 0; row < 5; row++) {
          const [matrix, column, width] = row < 3 ? [weights[gate]!, row, 3] : [weights[4 + gate]!, row - 3, 2]
          expect(kernel.data[row * 8 + block * 2 + unit]).toBe(matrix.data[unit * width + column])
        }
      }
    }
  })

  it('4: a constant bias initializer counts twice in a saved bias', async () => {
    const lstm = new CudnnLSTM(openReferenceBackend(), { numLayers: 1, numUnits: 2, inputSize: 3 })
    const params = lstm.createParams({ biasInitializer: 0.5 })
    const saveable = new CudnnLSTMSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [params])
    const bias = (await saveable.tensors('default')).get('rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/bias')!
    expect([...bias.data]).toEqual(new Array(8).fill(1))
  })

  it('7: the name of a saveable of TensorFlow’s is not part of its keys; the scope is', async () => {
    const run = build({ model: 'CudnnGRU' })
    const keys = async (scope: string, name: string) => [
      ...(await cells('CudnnGRU', run, scope, name).tensors('default')).keys(),
    ]
    expect(await keys('', 'encoder')).toEqual(await keys('', 'decoder'))
    expect(await keys('outer', 'encoder')).toEqual((await keys('', 'x')).map((key) => `outer/${key}`))
  })

  it('8: keys of build() and of __call__ differ by the layer’s scope, and two layers built in one scope collide', async () => {
    const [one, other] = [build({ model: 'CudnnGRU' }, 1), build({ model: 'CudnnGRU' }, 2)]
    const called = new Saver([cells('CudnnGRU', one, 'outer/cudnn_gru')])
    const prefix = await called.save(await temporaryPrefix())
    const built = new Saver([cells('CudnnGRU', other, 'outer')])
    await expect(built.restore(prefix)).rejects.toThrow(coded('ERR_RESTORE_MISMATCH'))
    await new Saver([cells('CudnnGRU', other, 'outer/cudnn_gru')]).restore(prefix)
    expect(await cellValues(other)).toEqual(await cellValues(one))
    const both = new Saver([cells('CudnnGRU', one, 'outer', 'one'), cells('CudnnGRU', other, 'outer', 'other')])
    await expect(both.save(await temporaryPrefix())).rejects.toThrow(coded('ERR_DUPLICATE_KEY'))
  })

  it('12: auto_select with equal sizes is skip_input, which a linear_input model does not restore', async () => {
    const backend = openReferenceBackend()
    const make = (inputMode: 'auto_select' | 'linear_input') => {
      const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 3, inputSize: 3, inputMode })
      const params = lstm.createParams({ seed: 1 })
      return {
        params,
        saver: new Saver([new RNNParamsSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [params])]),
      }
    }
    const [skip, linear] = [make('auto_select'), make('linear_input')]
    const prefix = await skip.saver.save(await temporaryPrefix())
    await expect(linear.saver.restore(prefix)).rejects.toThrow(coded('ERR_RESTORE_MISMATCH'))
    const before = await valuesOf(skip.params)
    skip.params.assign({ data: new Float32Array(before.length), shape: [before.length] })
    await skip.saver.restore(prefix)
    expect(await valuesOf(skip.params)).toEqual(before)
  })
})

describe('optimizer slots', () => {
  /** A model with Adam's two moments, on any executor. */
  async function training(backend = openReferenceBackend() as ReturnType<typeof openReversedLayoutBackend>) {
    const lstm = new CudnnLSTM(backend, { numLayers: 2, numUnits: 4, inputSize: 3, direction: 'bidirectional' })
    const params = lstm.createSlot('opaque_kernel')
    const [m, v] = [lstm.createSlot('opaque_kernel/Adam'), lstm.createSlot('opaque_kernel/Adam_1')]
    const saveables = [params, m, v].map(
      (variable) => new RNNParamsSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [variable], variable.name),
    )
    const values = async () =>
      Promise.all(
        [params, m, v].map(async (variable) => {
          const { weights, biases } = await lstm.paramsToCanonical(variable)
          return [...weights, ...biases].map(({ data }) => [...data])
        }),
      )
    const step = async (t: number) => {
      const { output, tape } = await lstm.call(waves(5, 2, 3), null, null, params)
      const { params: gradient } = await lstm.gradients(tape, { output })
      backend.ops.update('adam', params.value, [m.value, v.value], gradient, { learningRate: 0.05, step: t })
    }
    return { lstm, params, m, saver: new Saver(saveables), values, step }
  }

  it('are saved canonically: training continues bit for bit on an executor with another layout, and back', async () => {
    const here = await training()
    const initial = here.lstm.createParams({ seed: 1 })
    here.params.assign(initial.value)
    for (const step of [1, 2, 3]) await here.step(step)
    const prefix = await here.saver.save(await temporaryPrefix())

    const there = await training(openReversedLayoutBackend())
    await there.saver.restore(prefix)
    expect(there.params.shape).not.toEqual(here.params.shape)
    expect(await there.values()).toEqual(await here.values())
    for (const step of [4, 5, 6]) {
      await here.step(step)
      await there.step(step)
    }
    expect(await there.values()).toEqual(await here.values())
    expect((await there.values()).flat(2).every((value) => Number.isFinite(value) && value !== 0)).toBe(true)

    const back = await training()
    await back.saver.restore(await there.saver.save(await temporaryPrefix()))
    expect(await valuesOf(back.m)).toEqual(await valuesOf(here.m))
  })
})
