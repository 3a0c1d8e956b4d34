import { readdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { latestCheckpoint, openCheckpoint, readCheckpointState, writeCheckpointState } from '@cudnn-rnn/checkpoint'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CudnnLSTMSaveable, type Naming, RNNParamsSaveable, Saver, TensorSaveable } from '../src/index.js'
import { box, saveableOf } from './saved_boxes.js'
import { build, temporaryPrefix } from './small_models.js'

describe('Saver.save', () => {
  it('names checkpoints by step, keeps the newest maxToKeep, and notes them oldest first', async () => {
    const { saveable } = box('v', Float32Array.of(1))
    const saver = new Saver([saveable], { maxToKeep: 2 })
    expect(String(saver)).toMatch(/^Saver \{ saveables: \[v\], maxToKeep: 2, /)
    const path = await temporaryPrefix()
    for (const globalStep of [1, 20, 300]) expect(await saver.save(path, { globalStep })).toBe(`${path}-${globalStep}`)
    const files = ['model-20', 'model-300'].flatMap((name) => [`${name}.data-00000-of-00001`, `${name}.index`])
    expect((await readdir(dirname(path))).sort()).toEqual(['checkpoint', ...files])
    expect((await readCheckpointState(dirname(path)))?.allModelCheckpointPaths.map((each) => basename(each))).toEqual([
      'model-20',
      'model-300',
    ])
    expect(await latestCheckpoint(dirname(path))).toBe(`${path}-300`)
  })

  it('deletes every data file of an old checkpoint, and nothing outside its directory, for any state file', async () => {
    const { saveable } = box('v', Float32Array.of(1))
    const path = await temporaryPrefix()
    const directory = dirname(path)
    const elsewhere = await new Saver([saveable]).save(await temporaryPrefix(), { globalStep: 1 })
    const sharded = ['model-1.index', 'model-1.meta', 'model-1.data-00000-of-00002', 'model-1.data-00001-of-00002']
    for (const name of [...sharded, 'model-10.meta']) await writeFile(join(directory, name), '')
    await writeCheckpointState(directory, {
      modelCheckpointPath: 'model-1',
      allModelCheckpointPaths: [elsewhere, 'model-1'],
      allModelCheckpointTimestamps: [1, 2],
      lastPreservedTimestamp: 1,
    })
    await new Saver([saveable], { maxToKeep: 1 }).save(path, { globalStep: 2 })
    expect((await readdir(directory)).sort()).toEqual([
      'checkpoint',
      'model-10.meta',
      'model-2.data-00000-of-00001',
      'model-2.index',
    ])
    await new Saver([saveable]).restore(elsewhere)
  })

  it('continues the history of an earlier saver, and moves a name saved again to the end', async () => {
    const { saveable } = box('v', Float32Array.of(1))
    const path = await temporaryPrefix()
    await new Saver([saveable]).save(path, { globalStep: 1 })
    await new Saver([saveable]).save(path, { globalStep: 2 })
    await new Saver([saveable]).save(path, { globalStep: 1 })
    const state = await readCheckpointState(dirname(path))
    expect(state?.allModelCheckpointPaths.map((each) => basename(each))).toEqual(['model-2', 'model-1'])
  })

  it('keeps one for every so many hours for good, and everything with maxToKeep 0', async () => {
    const { saveable } = box('v', Float32Array.of(1))
    const path = await temporaryPrefix()
    const keeper = new Saver([saveable], { maxToKeep: 1, keepCheckpointEveryNHours: 1e-9 })
    for (const globalStep of [1, 2, 3]) {
      await keeper.save(path, { globalStep })
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect((await readdir(dirname(path))).filter((name) => name.endsWith('.index')).length).toBeGreaterThan(1)
    const all = await temporaryPrefix()
    for (let step = 0; step < 8; step++) await new Saver([saveable], { maxToKeep: 0 }).save(all, { globalStep: step })
    expect((await readdir(dirname(all))).filter((name) => name.endsWith('.index'))).toHaveLength(8)
    expect((await readCheckpointState(dirname(all)))?.allModelCheckpointPaths).toHaveLength(1)
  })

  it('pads steps on request, and refuses steps that are none', async () => {
    const { saveable } = box('v', Float32Array.of(1))
    const path = await temporaryPrefix()
    expect(await new Saver([saveable], { padStepNumber: true }).save(path, { globalStep: 42 })).toBe(`${path}-00000042`)
    await expect(new Saver([saveable]).save(path, { globalStep: 1.5 })).rejects.toThrow(coded('ERR_INVALID_OPTION'))
  })

  it('refuses two tensors of one key, two saveables of one name, and wrong options', async () => {
    const [one, other] = [box('v', Float32Array.of(1)), box('v', Float32Array.of(2))]
    expect(() => new Saver([one.saveable, other.saveable])).toThrow(coded('ERR_DUPLICATE_SAVEABLE'))
    const run = build({ model: 'CudnnGRU' })
    const clash = box('encoder/layer_0/forward/weight_0', Float32Array.of(1))
    await expect(new Saver([saveableOf(run, 'encoder'), clash.saveable]).save(await temporaryPrefix())).rejects.toThrow(
      coded('ERR_DUPLICATE_KEY'),
    )
    expect(() => new Saver([], { maxToKeeep: 1 } as never)).toThrow(
      coded('ERR_UNKNOWN_OPTION', { suggestion: 'maxToKeep' }),
    )
    expect(() => new Saver([], { naming: 'tf-1.4' as never })).toThrow(coded('ERR_INVALID_OPTION'))
    for (const saveables of [undefined, one.saveable, [run.params]]) {
      expect(() => new Saver(saveables as never)).toThrow(coded('ERR_INVALID_ARGUMENT'))
    }
    const path = await temporaryPrefix()
    await expect(new Saver([one.saveable]).save(path, { global_step: 1 } as never)).rejects.toThrow(
      coded('ERR_UNKNOWN_OPTION', { suggestion: 'globalStep' }),
    )
    await expect(new Saver([one.saveable]).restore(path)).rejects.toThrow(coded('ERR_CHECKPOINT_NOT_FOUND'))
  })
})

describe('Saver.save streams', () => {
  it('reads a saveable when those before it are written', async () => {
    const path = await temporaryPrefix()
    const written = async () => {
      const name = (await readdir(dirname(path))).find((each) => each.includes('.data.'))
      return name === undefined ? 0 : (await stat(join(dirname(path), name))).size
    }
    const sizes: number[] = []
    const saveables = ['c', 'a', 'b'].map(
      (name) =>
        new TensorSaveable(
          name,
          async () => {
            sizes.push(await written())
            return { data: new Float32Array(1000), shape: [1000] }
          },
          () => undefined,
        ),
    )
    await new Saver(saveables).save(path)
    expect(sizes).toEqual([0, 4000, 8000])
  })

  /** The elements of each conversion of a save, and the bytes of the data file before it. */
  async function conversionsOf(options: Parameters<typeof build>[0], make: 'params' | 'cells', naming: Naming) {
    const { model, params } = build(options)
    const path = await temporaryPrefix()
    const conversions: { elements: number; written: number }[] = []
    const paramsToCanonical: typeof model.paramsToCanonical = async (value, selection) => {
      const converted = await model.paramsToCanonical(value, selection)
      const name = (await readdir(dirname(path)).catch(() => [])).find((each) => each.includes('.data.'))
      const written = name === undefined ? 0 : (await stat(join(dirname(path), name))).size
      const elements = [...converted.weights, ...converted.biases].reduce((sum, { data }) => sum + data.length, 0)
      conversions.push({ elements, written })
      return converted
    }
    const saveable =
      make === 'params'
        ? new RNNParamsSaveable(paramsToCanonical, model.canonicalToParams, [params], 'encoder')
        : new CudnnLSTMSaveable(paramsToCanonical, model.canonicalToParams, [params])
    const prefix = await new Saver([saveable], { naming }).save(path)
    const reader = await openCheckpoint(prefix)
    for (const [key, { data, shape }] of await saveable.tensors(naming)) {
      expect(await reader.read(key)).toMatchObject({ data, shape })
    }
    const count = reader.names().length
    await reader.close()
    return { conversions: conversions.slice(0, -1), count, size: model.paramsSize() }
  }

  it.each(['default', 'tf-1.2'] as const)('%s: holds one canonical tensor of a network at a time', async (naming) => {
    const options = { model: 'CudnnLSTM', numLayers: 4, direction: 'bidirectional', numUnits: 5 } as const
    const { conversions, count, size } = await conversionsOf(options, 'params', naming)
    expect(count).toBe(128)
    // The first conversion gives the structure, without elements.
    expect(conversions.map(({ elements }) => elements)[0]).toBe(0)
    expect(conversions).toHaveLength(1 + count)
    expect(Math.max(...conversions.map(({ elements }) => elements))).toBe(5 * 10)
    let elements = 0
    for (const each of conversions) {
      expect(each.written).toBe(4 * elements)
      elements += each.elements
    }
    expect(elements).toBe(size)
  })

  it.each([
    ['params', 'tf-1.3', undefined],
    ['cells', 'default', undefined],
    ['cells', 'default', 'bidirectional'],
  ] as const)('%s, %s: holds the tensors of one cell at a time', async (make, naming, direction) => {
    const options = { model: 'CudnnLSTM', numLayers: 4, numUnits: 5, ...(direction && { direction }) } as const
    const { conversions, size } = await conversionsOf(options, make, naming)
    expect(conversions).toHaveLength(1 + 4 * (direction ? 2 : 1))
    const ofCell = 4 * 5 * ((direction ? 10 : 5) + 5 + 2)
    expect(Math.max(...conversions.map(({ elements }) => elements))).toBe(ofCell)
    expect(conversions.reduce((sum, { elements }) => sum + elements, 0)).toBe(size)
    for (const [index, { written }] of conversions.slice(1).entries()) expect(written > 0).toBe(index > 0)
  })

  it('converts once where the function gives all tensors in any case', async () => {
    const { model, params } = build({ model: 'CudnnGRU' })
    let conversions = 0
    const all = (value: never) => {
      conversions++
      return model.paramsToCanonical(value)
    }
    const saveable = new RNNParamsSaveable(all, model.canonicalToParams, [params], 'encoder')
    await new Saver([saveable]).save(await temporaryPrefix())
    expect(conversions).toBe(1)
  })
})
