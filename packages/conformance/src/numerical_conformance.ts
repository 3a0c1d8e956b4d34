import { type Backend, DTYPES } from '@cudnn-rnn/backend'
import { CELL_MODES, type CellMode, type FloatArray, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, test } from 'vitest'
import { expectAllclose } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { lossOf, readAll, type SmallNetwork, smallNetwork } from './small_network.js'

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

/** One case per cell mode, and every option once: two forwards per element of each operand take long. */
const COVERING = new Set([
  'lstm with everything',
  'gru bidirectional, ragged',
  'rnn_tanh with dropout',
  'rnn_relu with skip_input',
])

/** Every gradient against central differences; float64 only, as float32 has no digits left for them. */
export function registerNumericalConformance({ open, dtype, extent }: ExecutorUnderTest): void {
  if (dtype !== 'float64') return
  describe('gradients equal numerical differentiation', () => {
    const cases = extent === 'all' ? CASES : CASES.filter(([title]) => COVERING.has(title))
    test.each(cases)('%s', async (_, options, lengths) => {
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
        const numerical = await differences(backend, network, dropoutState, name, operand)
        const magnitude = Math.max(...numerical.map(Math.abs), 1e-3)
        expectAllclose(
          `∂loss/∂${name}`,
          gradients[name].map((value) => value / magnitude),
          numerical.map((value) => value / magnitude),
          RELATIVE_TOLERANCE,
        )
      }
    })
  })
}

async function differences(
  backend: Backend,
  network: SmallNetwork,
  dropoutState: Uint8Array,
  name: string,
  { data, shape }: { readonly data: FloatArray; readonly shape: readonly number[] },
): Promise<number[]> {
  const lossWith = async (index: number, delta: number) => {
    const moved = { data: DTYPES[backend.dtype].array.from(data), shape }
    moved.data[index] += delta
    network.rnn.restoreDropoutState(dropoutState)
    const result = await network.forward(true, { [name]: moved })
    return lossOf(network, result)
  }
  const slopes: number[] = []
  for (let index = 0; index < data.length; index++) {
    slopes.push(((await lossWith(index, DELTA)) - (await lossWith(index, -DELTA))) / (2 * DELTA))
  }
  return slopes
}
