import { stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { latestCheckpoint } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { RestoreError, RNNParamsSaveable, Saver, TensorSaveable } from '../src/index.js'
import { box, saveableOf } from './saved_boxes.js'
import { build, temporaryPrefix, valuesOf } from './small_models.js'

describe('Saver.restore', () => {
  it('reads parameters from the executor once for their structure, and variables of known type not at all', async () => {
    const run = build({ model: 'CudnnGRU' })
    let [conversions, reads] = [0, 0]
    const paramsToCanonical = (params: never) => {
      conversions++
      return run.model.paramsToCanonical(params)
    }
    const data = Float32Array.of(1, 2)
    const variable = {
      name: 'kernel',
      value: {
        shape: [2],
        dtype: 'float32' as const,
        read: async () => {
          reads++
          return { data, shape: [2] }
        },
      },
      assign: () => undefined,
    }
    const saver = () =>
      new Saver([
        new RNNParamsSaveable(paramsToCanonical, run.model.canonicalToParams, [run.params], 'encoder'),
        TensorSaveable.of(variable),
      ])
    const first = saver()
    const prefix = await first.save(await temporaryPrefix())
    expect([conversions, reads]).toEqual([1, 1])
    await first.restore(prefix)
    expect([conversions, reads]).toEqual([1, 1])
    await saver().restore(prefix)
    expect([conversions, reads]).toEqual([2, 1])
  })

  it('brings back plain tensors of every type it saves', async () => {
    const [step, weights] = [
      box('global_step', BigInt64Array.of(2n ** 40n)),
      box('embedding', Float32Array.of(1, 2, 3)),
    ]
    const saver = new Saver([step.saveable, weights.saveable])
    const prefix = await saver.save(await temporaryPrefix())
    step.held.value = { data: BigInt64Array.of(0n), shape: [1] }
    weights.held.value = { data: new Float32Array(3), shape: [3] }
    await saver.restore(prefix)
    expect([step.held.value.data[0], [...(weights.held.value.data as Float32Array)]]).toEqual([2n ** 40n, [1, 2, 3]])
  })

  it('names every missing, extra and misshapen tensor at once, with both shapes, and changes nothing', async () => {
    const saved = build({ model: 'CudnnLSTM', numLayers: 3, inputSize: 5 })
    const prefix = await new Saver([saveableOf(saved, 'encoder'), box('bias', Float32Array.of(1, 2)).saveable]).save(
      await temporaryPrefix(),
    )
    const run = build({ model: 'CudnnLSTM', numLayers: 2, inputSize: 3 }, 2)
    const [bias, other] = [box('bias', Float32Array.of(7, 8)), box('other', Float32Array.of(9))]
    const before = await valuesOf(run.params)
    const error = await new Saver([bias.saveable, saveableOf(run, 'encoder'), other.saveable])
      .restore(prefix)
      .catch((reason: unknown) => reason)
    if (!(error instanceof RestoreError)) throw error
    expect(error.missing).toEqual(['other'])
    expect(error.extra).toHaveLength(16)
    expect(error.extra).toContain('encoder/layer_2/forward/weight_0')
    expect(error.misshapen).toContainEqual({
      key: 'encoder/layer_0/forward/weight_0',
      expected: 'float32 [7,3]',
      actual: 'float32 [7,5]',
    })
    expect(await valuesOf(run.params)).toEqual(before)
    expect([...(bias.held.value.data as Float32Array)]).toEqual([7, 8])
  })

  it('refuses the directory of a checkpoint and its single files, which are not prefixes', async () => {
    const { saveable } = box('v', Float32Array.of(1))
    const saver = new Saver([saveable])
    const prefix = await saver.save(await temporaryPrefix())
    for (const path of [dirname(prefix), `${prefix}.index`, `${prefix}.data-00000-of-00001`]) {
      await expect(saver.restore(path)).rejects.toThrow(coded('ERR_CHECKPOINT_NOT_FOUND', { path }))
    }
  })

  it('refuses a prefix without a checkpoint', async () => {
    await expect(
      new Saver([box('v', Float32Array.of(1)).saveable]).restore(await temporaryPrefix('none')),
    ).rejects.toThrow(coded('ERR_CHECKPOINT_NOT_FOUND'))
  })

  it('leaves the state file alone when a save fails', async () => {
    const { saveable } = box('v', Float32Array.of(1))
    const path = await temporaryPrefix()
    await new Saver([saveable]).save(path, { globalStep: 1 })
    const { mtimeMs } = await stat(join(dirname(path), 'checkpoint'))
    const broken = new TensorSaveable(
      'broken',
      () => ({ data: new Float32Array(1), shape: [2] }),
      () => undefined,
    )
    await expect(new Saver([saveable, broken]).save(path, { globalStep: 2 })).rejects.toThrow(
      coded('ERR_TENSOR_INVALID'),
    )
    expect((await stat(join(dirname(path), 'checkpoint'))).mtimeMs).toBe(mtimeMs)
    expect(await latestCheckpoint(dirname(path))).toBe(`${path}-1`)
  })
})
