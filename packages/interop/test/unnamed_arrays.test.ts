import { expect, it } from 'vitest'
import { importWeights } from '../src/index.js'
import { compute, expectClose, fixtureBytes, fixtureJson, type Numbers } from './fixture.js'

const { cases } = fixtureJson<{
  readonly cases: Readonly<Record<string, { readonly input: Numbers; readonly output: Numbers }>>
}>('keras/expected.json')

it('importWeights never guesses whose arrays without names are', async () => {
  await expect(importWeights(fixtureBytes('keras/get_weights.npz'))).rejects.toMatchObject({
    code: 'ERR_WEIGHTS_AMBIGUOUS',
    interpretations: [expect.stringContaining('keras lstm (gates input, forget, new_memory, output)')],
  })
})

it('importWeights reads them under a convention that is named', async () => {
  const { networks, unusedTensors } = await importWeights(fixtureBytes('keras/get_weights.npz'), {
    convention: 'keras',
  })
  const { input, output } = cases['from_get_weights']!
  expect(unusedTensors).toEqual([])
  expectClose((await compute(networks[0]!, input)).output, output)
})
