import { CudnnLSTM } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CudnnLSTMSaveable, RNNParamsSaveable, Saver } from '../src/index.js'
import { openReversedLayoutBackend } from './reversed_layout_backend.js'
import { cells, cellValues, waves } from './scenario_models.js'
import { build, temporaryPrefix, valuesOf } from './small_models.js'

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
