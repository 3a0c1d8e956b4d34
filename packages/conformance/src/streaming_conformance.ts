import { CELL_MODES, type CellMode, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/coded.mjs'
import { expectAllclose } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { filled } from './fills.js'
import { readAll, SMALL_BATCH, SMALL_TIME, smallNetwork } from './small_network.js'

/** Executors that step on the calling thread: stepping equals the forward over the whole sequence. */
export function registerStreamingConformance({ open, tolerance }: ExecutorUnderTest): void {
  describe('streams', () => {
    const cases = [
      ...(Object.keys(CELL_MODES) as CellMode[]).map((cellMode) => ({ cellMode })),
      { cellMode: 'lstm', numProj: 2, cellClip: 0.3 } as const,
    ]
    test.each(cases)('step by step as the whole sequence does: %o', async (options) => {
      using backend = await open()
      const { rnn, params, inputs, forward } = smallNetwork(backend, options)
      if (rnn.stepper === undefined) return
      const whole = await readAll(await forward(false, { inputH: null as never, inputC: null as never }))
      const stepper = rnn.stepper(params, SMALL_BATCH)
      const columns = whole['output'].length / (SMALL_TIME * SMALL_BATCH)
      const out = filled('x', [SMALL_BATCH, columns], backend.dtype)
      for (let t = 0; t < SMALL_TIME; t++) {
        const input = {
          data: inputs.input.data.slice(t * SMALL_BATCH * 2, (t + 1) * SMALL_BATCH * 2),
          shape: [SMALL_BATCH, 2],
        }
        expect(stepper.stepSync(input, out)).toBe(out)
        const expected = whole['output'].slice(t * SMALL_BATCH * columns, (t + 1) * SMALL_BATCH * columns)
        expectAllclose(`output at step ${t}`, out.data, expected, tolerance)
      }
      expectAllclose('h', stepper.state().h.data, whole['outputH'], tolerance)
      if (options.cellMode === 'lstm') expectAllclose('c', stepper.state().c?.data ?? [], whole['outputC'], tolerance)
      stepper.dispose()
      expect(backend.stats().steppers).toBe(0)
    })

    // Few rows, and as many as make the cpu executor cut them into blocks: each also with rows that stay behind.
    test.each(cases.flatMap((options) => [3, 150].map((batch) => ({ ...options, batch }))))(
      'step single rows as streams of their own, and leave the others as they are: %o',
      async ({ batch, ...options }) => {
        using backend = await open()
        const { rnn, params } = smallNetwork(backend, options)
        if (rnn.stepper === undefined) return
        const stepper = rnn.stepper(params, batch)
        const alone = Array.from({ length: batch }, () => rnn.stepper!(params, 1))
        for (let t = 0; t < 4; t++) {
          // Different rows at every step, in an order of their own.
          const rows = Array.from({ length: batch }, (_, row) => (row * 7 + t) % batch).filter(
            (_, k) => (k + t) % 3 < 2,
          )
          const input = filled('x', [rows.length, 2], backend.dtype, { start: 1000 * t })
          const before = stepper.state()
          const output = stepper.stepRowsSync(rows, input)
          const columns = output.shape[1]
          for (const [index, row] of rows.entries()) {
            const data = input.data.slice(index * 2, index * 2 + 2)
            const expected = alone[row].stepSync({ data, shape: [1, 2] }).data
            const actual = output.data.slice(index * columns, (index + 1) * columns)
            expectAllclose(`row ${row} at step ${t}`, actual, expected, tolerance)
          }
          for (const row of [0, 1, batch - 1]) {
            const { h, c } = stepper.state([row])
            const own = rows.includes(row) ? alone[row].state() : undefined
            expectAllclose(`h of row ${row}`, h.data, own?.h.data ?? rowOf(before.h, row), tolerance)
            if (c && before.c) expectAllclose('c', c.data, own?.c?.data ?? rowOf(before.c, row), tolerance)
          }
        }
      },
    )

    test('step all rows of a large batch as streams of their own', async () => {
      using backend = await open()
      const { rnn, params } = smallNetwork(backend, { cellMode: 'lstm' })
      if (rnn.stepper === undefined) return
      const [batch, time] = [300, 3]
      const stepper = rnn.stepper(params, batch)
      const input = filled('x', [time, batch, 2], backend.dtype)
      const { data } = stepper.stepSync(input)
      for (const row of [0, 127, 128, 299]) {
        const alone = rnn.stepper(params, 1)
        for (let t = 0; t < time; t++) {
          const begin = (t * batch + row) * 2
          const expected = alone.stepSync({ data: input.data.slice(begin, begin + 2), shape: [1, 2] }).data
          const actual = data.slice((t * batch + row) * 3, (t * batch + row + 1) * 3)
          expectAllclose(`row ${row} at step ${t}`, actual, expected, tolerance)
        }
      }
    })

    test('move the states of single rows in and out', async () => {
      using backend = await open()
      const { rnn, params, inputs } = smallNetwork(backend, { cellMode: 'lstm', numProj: 2 })
      if (rnn.stepper === undefined) return
      const stepper = rnn.stepper(params, SMALL_BATCH)
      stepper.stepSync(inputs.input)
      const whole = stepper.state()
      const { h, c } = stepper.state([2, 0])
      expect([h.shape, c?.shape]).toEqual([
        [2, 2, 2],
        [2, 2, 3],
      ])
      expect(rowOf(h, 0)).toEqual(rowOf(whole.h, 2))
      expect(rowOf(h, 1)).toEqual(rowOf(whole.h, 0))
      stepper.restore({ h, c }, [1, 2])
      const after = stepper.state()
      for (const [row, from] of [
        [0, 0],
        [1, 2],
        [2, 0],
      ] as const) {
        expect(rowOf(after.h, row)).toEqual(rowOf(whole.h, from))
        expect(rowOf(after.c!, row)).toEqual(rowOf(whole.c!, from))
      }
      // A refused call changes nothing.
      expect(() => stepper.restore({ h, c }, [1, 1])).toThrow(coded('ERR_STREAM_ROW'))
      expect(() => stepper.restore({ h, c }, [1])).toThrow(coded('ERR_SHAPE'))
      const x = filled('x', [2, 2], backend.dtype)
      expect(() => stepper.stepRowsSync([0, 3], x)).toThrow(coded('ERR_STREAM_ROW'))
      expect(() => stepper.stepRowsSync([0, 0], x)).toThrow(coded('ERR_STREAM_ROW'))
      expect(() => stepper.stepRowsSync([0], x)).toThrow(coded('ERR_SHAPE'))
      expect(stepper.state()).toEqual(after)
    })

    test('are refused once their parameters or their network were disposed', async () => {
      using backend = await open()
      const { rnn, params, inputs } = smallNetwork(backend, { cellMode: 'gru' })
      if (rnn.stepper === undefined) return
      const stepper = rnn.stepper(params, SMALL_BATCH)
      const { h } = stepper.state()
      params.dispose()
      expect(() => stepper.stepSync(inputs.input)).toThrow(coded('ERR_TENSOR_DISPOSED'))
      rnn.dispose()
      expect(() => stepper.stepSync(inputs.input)).toThrow(coded('ERR_RNN_DISPOSED'))
      expect(stepper.state().h).toEqual(h)
    })
  })
}

/** The part [L,1,·] of states [L,B,·] that belongs to one row. */
function rowOf({ data, shape: [layers = 0, batch = 0, columns = 0] }: Tensor, row: number): number[] {
  return Array.from({ length: layers }, (_, layer) => {
    const begin = (layer * batch + row) * columns
    return Array.from(data.slice(begin, begin + columns))
  }).flat()
}
