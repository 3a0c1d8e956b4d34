import {
  BasicRNNCell,
  CudnnCompatibleGRUCell,
  CudnnCompatibleLSTMCell,
  dynamicRnn,
  LSTMBlockFusedCell,
  MultiRNNCell,
  stackBidirectionalDynamicRnn,
} from '@cudnn-rnn/cells'
import { openCheckpoint } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import {
  CudnnGRUSaveable,
  CudnnLSTMSaveable,
  CudnnRNNReluSaveable,
  CudnnRNNTanhSaveable,
  Saver,
  TensorSaveable,
} from '../src/index.js'
import { build, type Case, temporaryPrefix } from './small_models.js'

const SAVEABLES = {
  CudnnLSTM: CudnnLSTMSaveable,
  CudnnGRU: CudnnGRUSaveable,
  CudnnRNNRelu: CudnnRNNReluSaveable,
  CudnnRNNTanh: CudnnRNNTanhSaveable,
}
const CELLS = {
  CudnnLSTM: () => new CudnnCompatibleLSTMCell(7),
  CudnnGRU: () => new CudnnCompatibleGRUCell(7),
  CudnnRNNRelu: () => new BasicRNNCell(7, { activation: 'relu' }),
  CudnnRNNTanh: () => new BasicRNNCell(7),
}

const saveableOf = (options: Case, run: ReturnType<typeof build>, scope?: string, name?: string) =>
  new SAVEABLES[options.model](run.model.paramsToCanonical, run.model.canonicalToParams, [run.params], { scope, name })

const INPUT = { data: Float32Array.from({ length: 4 * 2 * 3 }, (_, index) => Math.sin(index)), shape: [4, 2, 3] }

async function outputOf({ model, params }: ReturnType<typeof build>): Promise<number[]> {
  const call = model as unknown as {
    call(...args: unknown[]): Promise<{ output: { read(): Promise<{ data: Float32Array }> } }>
  }
  const states = model.rnnMode === 'lstm' ? [null, null] : [null]
  return [...(await (await call.call(INPUT, ...states, params, { isTraining: false })).output.read()).data]
}

function expectClose(actual: ArrayLike<number>, expected: readonly number[]) {
  expect(actual.length).toBe(expected.length)
  for (const [index, value] of expected.entries()) expect(Math.abs(actual[index]! - value)).toBeLessThan(2e-6)
}

// cudnn_rnn_ops_test.py, testCudnnCompatibleRnnCells: parameters trained on the GPU give the same results in CPU cells.
describe.each(Object.keys(SAVEABLES) as (keyof typeof SAVEABLES)[])('testCudnnCompatibleRnnCells %s', (model) => {
  it('restores into cells by TensorFlow’s own variable names', async () => {
    const run = build({ model })
    const prefix = await new Saver([saveableOf({ model }, run, 'main')]).save(await temporaryPrefix())
    const reader = await openCheckpoint(prefix)
    const cell = new MultiRNNCell([CELLS[model](), CELLS[model]()])
    const variables: Record<string, unknown> = {}
    for (const key of reader.names()) variables[key.replace('main/rnn/multi_rnn_cell/', '')] = await reader.read(key)
    await reader.close()
    cell.setVariables(variables as never)
    const { outputs } = dynamicRnn(cell as never, INPUT, { timeMajor: true, training: false } as never) as {
      outputs: { data: Float32Array }
    }
    expectClose(outputs.data, await outputOf(run))
  })

  it('restores a bidirectional network into a stack of cells', async () => {
    const options = { model, direction: 'bidirectional' } as const
    const run = build(options)
    const prefix = await new Saver([saveableOf(options, run)]).save(await temporaryPrefix())
    const reader = await openCheckpoint(prefix)
    const cells = { fw: [CELLS[model](), CELLS[model]()], bw: [CELLS[model](), CELLS[model]()] }
    for (const side of ['fw', 'bw'] as const) {
      for (const [layer, cell] of cells[side].entries()) {
        const variables: Record<string, unknown> = {}
        const scope = new RegExp(`^stack_bidirectional_rnn/cell_${layer}/bidirectional_rnn/${side}/[a-z_]+/`)
        for (const key of reader.names())
          if (scope.test(key)) variables[key.replace(scope, '')] = await reader.read(key)
        cell.setVariables(variables as never)
      }
    }
    await reader.close()
    const { outputs } = stackBidirectionalDynamicRnn(cells.fw as never, cells.bw as never, INPUT, {
      timeMajor: true,
      training: false,
    } as never) as { outputs: { data: Float32Array } }
    expectClose(outputs.data, await outputOf(run))
  })

  it('is restored, computing the same, with the sums of the biases', async () => {
    const run = build({ model })
    const saver = new Saver([saveableOf({ model }, run)])
    const [output, canonical] = [await outputOf(run), await run.model.paramsToCanonical(run.params)]
    const prefix = await saver.save(await temporaryPrefix())
    run.params.assign({ data: new Float32Array(run.params.shape[0]!), shape: run.params.shape })
    await saver.restore(prefix)
    expectClose(await outputOf(run), output)
    const restored = await run.model.paramsToCanonical(run.params)
    expect(restored.weights.map(({ data }) => [...data])).toEqual(canonical.weights.map(({ data }) => [...data]))
  })
})

it('an LSTMBlockFusedCell without forget bias computes the same as CudnnLSTM', async () => {
  const run = build({ model: 'CudnnLSTM', numLayers: 1 })
  const prefix = await new Saver([saveableOf({ model: 'CudnnLSTM' }, run)]).save(await temporaryPrefix())
  const reader = await openCheckpoint(prefix)
  const cell = new LSTMBlockFusedCell(7, { forgetBias: 0 })
  const scope = 'rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell'
  cell.setVariables({ kernel: await reader.read(`${scope}/kernel`), bias: await reader.read(`${scope}/bias`) } as never)
  await reader.close()
  const { outputs } = cell.call(INPUT, { training: false } as never) as unknown as { outputs: { data: Float32Array } }
  expectClose(outputs.data, await outputOf(run))
})

it('restores beside optimizer slots of its variables and networks of other scopes, as TensorFlow’s own files hold them', async () => {
  const run = build({ model: 'CudnnLSTM' })
  const saveable = saveableOf({ model: 'CudnnLSTM' }, run, 'encoder')
  const other = saveableOf(
    { model: 'CudnnLSTM' },
    build({ model: 'CudnnLSTM', numLayers: 3 }),
    'outer/encoder',
    'other',
  )
  const slots = [...(await saveable.tensors('default'))].map(
    ([key, tensor]) =>
      new TensorSaveable(
        `${key}/Adam`,
        () => tensor,
        () => undefined,
      ),
  )
  const prefix = await new Saver([saveable, other, ...slots]).save(await temporaryPrefix())
  await new Saver([saveable]).restore(prefix)
  const smaller = build({ model: 'CudnnLSTM', numLayers: 1 })
  await expect(new Saver([saveableOf({ model: 'CudnnLSTM' }, smaller, 'encoder')]).restore(prefix)).rejects.toThrow(
    coded('ERR_RESTORE_MISMATCH', {
      extra: ['bias', 'kernel'].map(
        (variable) => `encoder/rnn/multi_rnn_cell/cell_1/cudnn_compatible_lstm_cell/${variable}`,
      ),
    }),
  )
})

it('a saveable of another model refuses', async () => {
  const run = build({ model: 'CudnnGRU' })
  const saveable = new CudnnLSTMSaveable(run.model.paramsToCanonical, run.model.canonicalToParams, [run.params])
  await expect(new Saver([saveable]).save(await temporaryPrefix())).rejects.toThrow(coded('ERR_OTHER_MODEL'))
})
