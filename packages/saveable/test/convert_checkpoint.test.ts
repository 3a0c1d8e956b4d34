import { openCheckpoint } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CudnnLSTMSaveable, convertCheckpoint, RNNParamsSaveable, Saver, TensorSaveable } from '../src/index.js'
import { build, type Case, temporaryPrefix, valuesOf } from './small_models.js'

async function contents(prefix: string) {
  const reader = await openCheckpoint(prefix)
  const tensors = new Map<string, unknown>()
  for (const key of reader.names()) tensors.set(key, await reader.read(key))
  await reader.close()
  return tensors
}

const step = new TensorSaveable(
  'global_step',
  () => ({ data: BigInt64Array.of(7n), shape: [] }),
  () => undefined,
)

async function trained(options: Case) {
  const run = build(options)
  const { model, params } = run
  const slot = model.createParams({ seed: 2 })
  const saveables = [
    new RNNParamsSaveable(model.paramsToCanonical, model.canonicalToParams, [params], 'encoder'),
    new RNNParamsSaveable(model.paramsToCanonical, model.canonicalToParams, [slot], 'encoder/Adam'),
    step,
  ]
  return { ...run, slot, prefix: await new Saver(saveables).save(await temporaryPrefix()) }
}

describe('convertCheckpoint', () => {
  it.each([
    { model: 'CudnnLSTM' },
    { model: 'CudnnGRU', direction: 'bidirectional' },
    { model: 'CudnnRNNRelu' },
  ] as Case[])('round-trips through the keys of TensorFlow 1.2 and 1.3 bit for bit: %o', async (options) => {
    const { prefix, model } = await trained(options)
    const { cellMode, direction } = model.descriptor
    let current = prefix
    for (const to of ['tf-1.2', 'tf-1.3', 'default'] as const) {
      const next = await temporaryPrefix()
      const converted = await convertCheckpoint(current, next, { to, cellMode, direction })
      expect(converted.map(({ name, structure, biasesSummed }) => ({ name, structure, biasesSummed }))).toEqual(
        ['encoder/Adam', 'encoder'].map((name) => ({ name, structure: model.descriptor, biasesSummed: false })),
      )
      current = next
    }
    expect(await contents(current)).toEqual(await contents(prefix))
  })

  it('writes the cells that CudnnLSTMSaveable writes, and states that biases were summed', async () => {
    const { prefix, model, params } = await trained({ model: 'CudnnLSTM', direction: 'bidirectional', numProj: 4 })
    const target = await temporaryPrefix()
    const converted = await convertCheckpoint(prefix, target, { to: 'cells' })
    expect(converted.map(({ biasesSummed }) => biasesSummed)).toEqual([true, true])
    const saveable = new CudnnLSTMSaveable(model.paramsToCanonical, model.canonicalToParams, [params], {
      scope: 'encoder',
    })
    expect(await contents(target)).toEqual(
      new Map([
        ...(await contents(target)),
        ...(await contents(await new Saver([saveable]).save(await temporaryPrefix()))),
      ]),
    )
    // And a model restores from them.
    const zeros = { data: new Float32Array(params.shape[0]!), shape: params.shape }
    params.assign(zeros)
    await new Saver([saveable]).restore(target)
    expect(await valuesOf(params)).not.toEqual(Array.from(zeros.data))
  })

  it('requires the cell if sizes are ambiguous, and writes nothing', async () => {
    const { prefix } = await trained({ model: 'CudnnRNNTanh' })
    const target = await temporaryPrefix()
    await expect(convertCheckpoint(prefix, target, { to: 'tf-1.2' })).rejects.toEqual(
      coded('ERR_AMBIGUOUS_NETWORK', { network: 'encoder/Adam' }),
    )
    await expect(openCheckpoint(target)).rejects.toEqual(coded('ERR_CHECKPOINT_NOT_FOUND'))
    expect(await convertCheckpoint(prefix, target, { to: 'tf-1.2', cellMode: 'rnn_tanh' })).toHaveLength(2)
  })

  it('refuses a checkpoint without a recurrent network', async () => {
    const prefix = await new Saver([step]).save(await temporaryPrefix())
    await expect(convertCheckpoint(prefix, `${prefix}-2`, { to: 'cells' })).rejects.toEqual(coded('ERR_NO_NETWORK'))
  })
})
