import type { BackendTensor } from '@cudnn-rnn/ops'
import { CudnnGRU } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { beamSearch, gatherStateRows, logSoftmax } from '../../src/index.js'

const CLASSES = 4
const END = 3
const LENGTH = 3

it('gatherStateRows takes the rows of every layer', async () => {
  using backend = openReferenceBackend()
  const state = backend.tensor({ data: Float32Array.from({ length: 12 }, (_, k) => k), shape: [2, 3, 2] })
  using gathered = await gatherStateRows(backend, state, Int32Array.of(2, 0, 2, 1))
  const { data, shape } = await gathered.read()
  expect(shape).toEqual([2, 4, 2])
  expect([...data]).toEqual([4, 5, 0, 1, 4, 5, 2, 3, 10, 11, 6, 7, 10, 11, 8, 9])
  await expect(gatherStateRows(backend, state, Int32Array.of(3))).rejects.toThrow(
    coded('ERR_ID_OUT_OF_RANGE', { index: 0, value: 3 }),
  )
})

it('beamSearch with gatherStateRows and a GRU finds the result of an exhaustive search', async () => {
  using backend = openReferenceBackend()
  const gru = new CudnnGRU(backend, {
    numLayers: 2,
    numUnits: CLASSES,
    inputSize: CLASSES,
    inputMode: 'linear_input',
  })
  const params = gru.createParams({ seed: 4 })
  const oneHot = (ids: readonly number[], batch: number) => ({
    data: Float32Array.from({ length: ids.length * CLASSES }, (_, k) =>
      k % CLASSES === ids[Math.floor(k / CLASSES)] ? 5 : 0,
    ),
    shape: [ids.length / batch, batch, CLASSES],
  })
  const logProbabilities = async (output: BackendTensor) => {
    const { data, shape } = await output.read()
    return logSoftmax({ data: (data as Float32Array).map((value) => 4 * value), shape })
  }

  const beamWidth = 3 ** LENGTH
  const [hypotheses] = await beamSearch<BackendTensor | null>({
    initialState: null,
    async update(state, ids) {
      const { output, outputH } = await gru.call(oneHot([...ids], beamWidth), state, params, { isTraining: false })
      const { data } = await logProbabilities(output)
      return { state: outputH, logits: { data, shape: [beamWidth, CLASSES] } }
    },
    gather: (state, parents) => gatherStateRows(backend, state!, parents),
    batch: 1,
    beamWidth,
    length: LENGTH,
    beginId: 0,
    endId: END,
    earlyStop: false,
  })

  const every: { ids: number[]; total: number }[] = []
  const walk = async (ids: number[]): Promise<void> => {
    if (ids.length < LENGTH && ids.at(-1) !== END) {
      for (let id = 0; id < CLASSES; id++) await walk([...ids, id])
      return
    }
    const { output } = await gru.call(oneHot([0, ...ids.slice(0, -1)], 1), null, params, { isTraining: false })
    const { data } = await logProbabilities(output)
    every.push({ ids, total: ids.reduce((sum, id, t) => sum + data[t * CLASSES + id], 0) })
  }
  await walk([])
  every.sort((a, b) => b.total - a.total)
  expect(hypotheses.slice(0, 10).map(({ ids }) => ids)).toEqual(every.slice(0, 10).map(({ ids }) => ids))
  expect(hypotheses[0].logProbability).toBeCloseTo(every[0].total, 5)
})
