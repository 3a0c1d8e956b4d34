import { CELL_MODES, type CellMode, type FloatArray, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { expectAllclose } from './closeness.js'
import { directionsOf, slopeAlong } from './directions.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { lossOf, readAll, smallNetwork } from './small_network.js'

/** Half the distance of central differences: truncation (∝ δ²) and rounding (∝ 1/δ) are both below 1e-9 in float64. */
const DELTA = 1e-5

const RELATIVE_TOLERANCE = 1e-7

const RAGGED = [2, 5, 0]

type Case = readonly [title: string, options: Partial<RnnOptions> & { cellMode: CellMode }, lengths: number[] | null]

/** One thing varied per row. The LSTM clip is small enough to hold many states. */
const CASES: readonly Case[] = [
  ...(Object.keys(CELL_MODES) as CellMode[]).flatMap((cellMode): Case[] => [
    [`${cellMode}`, { cellMode }, null],
    [`${cellMode} bidirectional, ragged`, { cellMode, direction: 'bidirectional' }, RAGGED],
    [`${cellMode} with skip_input`, { cellMode, inputSize: 3, inputMode: 'skip_input' }, null],
    [`${cellMode} with dropout`, { cellMode, dropout: 0.5, seed: 3 }, null],
  ]),
  ['lstm with a projection, ragged', { cellMode: 'lstm', numProj: 2 }, RAGGED],
  ['lstm with a clip', { cellMode: 'lstm', cellClip: 0.3 }, null],
  [
    'lstm with everything',
    { cellMode: 'lstm', numProj: 2, cellClip: 0.3, dropout: 0.3, direction: 'bidirectional' },
    RAGGED,
  ],
]

/**
 * Every gradient against central differences; float64 only, as float32 has no digits left for them. All: one difference per
 * element of each operand. Covering: one along each of a few directions, in as many cases with a twentieth of the forwards.
 */
export function registerNumericalConformance({ open, dtype, extent }: ExecutorUnderTest): void {
  if (dtype !== 'float64') return
  describe('gradients equal numerical differentiation', () => {
    test.each(CASES)('%s', async (_, options, lengths) => {
      using backend = await open()
      const network = smallNetwork(backend, options, lengths)
      // The same masks again: forwards from one dropout state draw the same masks.
      const dropoutState = await network.rnn.dropoutState()
      const gradients = await readAll(await network.backward(await network.forward(true)))
      const params = Float64Array.from((await network.params.read()).data)
      const operands: Record<string, { data: FloatArray; shape: readonly number[] } | null> = {
        ...network.inputs,
        params: { data: params, shape: network.params.shape },
      }
      for (const [name, operand] of Object.entries(operands)) {
        if (operand === null) continue
        const { data, shape } = operand
        const lossAlong = async (direction: ArrayLike<number>, distance: number) => {
          const moved = data.map((value, index) => value + distance * direction[index])
          network.rnn.restoreDropoutState(dropoutState)
          return lossOf(network, await network.forward(true, { [name]: { data: moved, shape } }))
        }
        const gradient = gradients[name]
        const magnitude = Math.max(...gradient.map(Math.abs), 1e-3)
        const directions = directionsOf(data.length, extent)
        const analytic: number[] = []
        const numerical: number[] = []
        for (const direction of directions) {
          const rise = (await lossAlong(direction, DELTA)) - (await lossAlong(direction, -DELTA))
          numerical.push(rise / (2 * DELTA) / magnitude)
          analytic.push(slopeAlong(gradient, direction) / magnitude)
        }
        expect(gradient.length).toBe(data.length)
        expectAllclose(`∂loss/∂${name}`, analytic, numerical, RELATIVE_TOLERANCE)
      }
    })
  })
}
