import { expect, it } from 'vitest'
import { importWeights } from '../src/import_weights.js'
import { openWeightFile } from '../src/open_weight_file.js'
import { fixtureBytes, fixturePath } from './fixture.js'

const STACKED = 'keras/lstm_stacked.keras'
const rule = (action: string, names: string, current: string) =>
  expect.stringContaining(`Cannot ${action} as its name must be one of ${names}: current name is ${current}`)

it('network returns the network of a name, by default the only one', async () => {
  const one = await importWeights(fixturePath('guide/sine.pt'))
  expect(one.network()).toBe(one.networks[0])
  const two = await importWeights(fixtureBytes(STACKED))
  expect(two.network('second')).toBe(two.networks[1])
})

it.each([
  [STACKED, undefined, rule('choose a network', 'first, second', 'undefined')],
  [STACKED, 'third', rule('choose a network', 'first, second', 'third')],
  [
    'keras/gru_reset_before.keras',
    undefined,
    expect.stringContaining('Cannot choose a network as the file must have one'),
  ],
])('network of %s refuses the name %s', async (file, name, message) => {
  const weights = await importWeights(fixtureBytes(file))
  const thrown = () => weights.network(name)
  expect(thrown).toThrow(expect.objectContaining({ code: 'ERR_WEIGHTS_NOT_FOUND', message }))
})

it('tensor reads a tensor by its name and refuses others', async () => {
  await using file = await openWeightFile(fixturePath('guide/sine.pt'))
  expect(await file.tensor('model.head.bias')).toMatchObject({ data: { length: 1 }, shape: [1] })
  await expect(file.tensor('head')).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_NOT_FOUND',
    message: expect.stringMatching(
      /Cannot read a tensor as its name must be one of .* and|, \d+ others: current name is head/,
    ),
  })
})
