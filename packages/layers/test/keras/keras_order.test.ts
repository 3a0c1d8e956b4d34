import { jsonRecord } from '@cudnn-rnn/canonical/rules'
import { openWeightFile } from '@cudnn-rnn/interop'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, test } from 'vitest'
import { apply, concat, dense, functional, input, type LayersModel, merge, sequential } from '../../src/index.js'

const d = (units: number) => dense({ units })

/** Units of the dense layers of an export, in its order. */
async function unitsOf(model: LayersModel): Promise<unknown[]> {
  await using file = await openWeightFile(await model.export('keras'))
  const { layers } = jsonRecord(jsonRecord(file.kerasModel)?.['config']) as { layers: { config: { units?: number } }[] }
  return layers.flatMap(({ config }) => config.units ?? [])
}

// The order in which keras.Model of Keras 3.15.1 lists the `layers` of these models.
test('layers are in the order of Keras: the farthest from the outputs first', async () => {
  using backend = openReferenceBackend()
  using branches = sequential(backend, [concat([d(5), [d(4), d(6)]])], { inputSize: 3 })
  expect(await unitsOf(branches)).toEqual([4, 5, 6])
  const a = input('a', { features: 3 })
  const shared = d(2)
  const early = apply(shared, a)
  const far = apply(d(8), apply(shared, apply(d(3), apply(d(7), a))))
  using graph = functional(backend, [a], { z: apply(d(9), early), y: merge('concat', [far, early]) })
  expect(await unitsOf(graph)).toEqual([7, 3, 2, 8, 9])
})
