import { localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { type Communicator, weightedMeans } from '../../src/index.js'

const over = (shares: readonly (readonly [Readonly<Record<string, number>>, number])[]) =>
  Promise.all(
    localCommunicators(shares.length).map((each, rank) =>
      weightedMeans(each as unknown as Communicator, ...(shares[rank] as [Record<string, number>, number])),
    ),
  )

describe('weightedMeans', () => {
  it('weighs each rank by its rows', async () => {
    const means = { loss: 3, accuracy: 0.25 }
    expect(
      await over([
        [{ loss: 6, accuracy: 1 }, 1],
        [{ loss: 2, accuracy: 0 }, 3],
      ]),
    ).toEqual([means, means])
  })

  it('takes metrics by their names in any order', async () => {
    const [first, second] = await over([
      [{ loss: 1, accuracy: 8 }, 2],
      [{ accuracy: 4, loss: 3 }, 2],
    ])
    expect(first).toEqual({ loss: 2, accuracy: 6 })
    expect(Object.entries(second ?? {})).toEqual([
      ['accuracy', 6],
      ['loss', 2],
    ])
  })

  it('passes over a rank without rows, also where its mean is NaN', async () => {
    expect(
      await over([
        [{ loss: Number.NaN }, 0],
        [{ loss: 5 }, 4],
      ]),
    ).toEqual([{ loss: 5 }, { loss: 5 }])
  })

  it('carries a NaN of a rank that has rows to all', async () => {
    const [first] = await over([
      [{ loss: Number.NaN }, 1],
      [{ loss: 5 }, 4],
    ])
    expect(first).toEqual({ loss: Number.NaN })
  })

  it('refuses metrics and weights that are not numbers, before it calls the communicator', async () => {
    const [communicator] = localCommunicators(1)
    for (const [means, weight] of [
      [{ loss: '1' }, 1],
      [undefined, 1],
      [{ loss: 1 }, undefined],
    ]) {
      const call = weightedMeans(communicator as never, means as never, weight as never)
      await expect(call).rejects.toThrow(coded('ERR_INVALID_ARGUMENT'))
    }
    expect(communicator?.calls).toBe(0)
  })
})
