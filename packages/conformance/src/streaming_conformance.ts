import { entryOf, required } from '@cudnn-rnn/canonical/rules'
import type { Rnn, RnnStreamState, TensorLike } from '@cudnn-rnn/ops'
import { CELL_MODES, type CellMode, type FloatArray, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { expectAllclose } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { filled } from './fills.js'
import { readAll, SMALL_BATCH, SMALL_TIME, smallNetwork } from './small_network.js'

/** Executors that keep the states of streams: stepping equals the forward over the whole sequence. */
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

    test('restore a cell state beyond the clip as a pass clips the one that enters it', async () => {
      using backend = await open()
      const { rnn, params, inputs, forward } = smallNetwork(backend, { cellMode: 'lstm', cellClip: 0.3 })
      const stepper = anyStepper(rnn, params, SMALL_BATCH)
      if (inputs.inputC === null) return
      const c = { ...inputs.inputC, data: inputs.inputC.data.map((value) => 2 * value) }
      expect(Math.max(...c.data)).toBeGreaterThan(0.3)
      const whole = await readAll(await forward(false, { inputC: c }))
      for (const rows of [undefined, [0, 1, 2]]) {
        stepper.restore({ h: inputs.inputH, c }, rows)
        const held = await stepper.state()
        expect(Math.max(...Array.from(held.c?.data ?? [], Math.abs))).toBeCloseTo(0.3, 7)
        const { data } = await stepper.step(inputs.input)
        expectAllclose('output', data, whole['output'], tolerance)
        expectAllclose('c', (await stepper.state()).c?.data ?? [], whole['outputC'], tolerance)
      }
    })

    // Few rows, and as many as make the cpu executor cut them into blocks: each also with rows that stay behind.
    test.each(cases.flatMap((options) => [3, 150].map((batch) => ({ ...options, batch }))))(
      'step single rows as separate streams, and leave the others as they are: %o',
      async ({ batch, ...options }) => {
        using backend = await open()
        const { rnn, params } = smallNetwork(backend, options)
        const stepper = anyStepper(rnn, params, batch)
        const every = Array.from({ length: batch }, (_, row) => row)
        // Queued streams of batch 1 take long on an emulated device.
        const followed = rnn.stepper === undefined ? every.filter((row) => row % 50 < 2) : every
        const alone = new Map(followed.map((row) => [row, anyStepper(rnn, params, 1)]))
        for (let t = 0; t < 4; t++) {
          // Different rows at every step, in another order.
          const rows = every.map((row) => (row * 7 + t) % batch).filter((_, k) => (k + t) % 3 < 2)
          const input = filled('x', [rows.length, 2], backend.dtype, { start: 1000 * t })
          const before = await stepper.state()
          const output = await stepper.stepRows(rows, input)
          const columns = output.shape[1]
          for (const row of followed) {
            const index = rows.indexOf(row)
            const own = entryOf(alone, row)
            if (index >= 0) {
              const data = input.data.slice(index * 2, index * 2 + 2)
              const expected = (await own.step({ data, shape: [1, 1, 2] })).data
              const actual = output.data.slice(index * columns, (index + 1) * columns)
              expectAllclose(`row ${row} at step ${t}`, actual, expected, tolerance)
            }
            const { h, c } = await stepper.state([row])
            const state = index >= 0 ? await own.state() : undefined
            expectAllclose(`h of row ${row}`, h.data, state?.h.data ?? rowOf(before.h, row), tolerance)
            if (c && before.c) expectAllclose('c', c.data, state?.c?.data ?? rowOf(before.c, row), tolerance)
          }
        }
      },
    )

    test('step all rows of a large batch as separate streams', async () => {
      using backend = await open()
      const { rnn, params } = smallNetwork(backend, { cellMode: 'lstm' })
      const [batch, time] = [300, 3]
      const stepper = anyStepper(rnn, params, batch)
      const input = filled('x', [time, batch, 2], backend.dtype)
      const { data } = await stepper.step(input)
      for (const row of [0, 127, 128, 299]) {
        const alone = anyStepper(rnn, params, 1)
        for (let t = 0; t < time; t++) {
          const begin = (t * batch + row) * 2
          const expected = (await alone.step({ data: input.data.slice(begin, begin + 2), shape: [1, 1, 2] })).data
          const actual = data.slice((t * batch + row) * 3, (t * batch + row + 1) * 3)
          expectAllclose(`row ${row} at step ${t}`, actual, expected, tolerance)
        }
      }
    })

    test.each(cases)('of a device step synchronously as they do asynchronously: %o', async (options) => {
      using backend = await open()
      const { rnn, params, inputs } = smallNetwork(backend, options)
      const waiting = rnn.queuedStepper?.(params, SMALL_BATCH)
      const queued = rnn.queuedStepper?.(params, SMALL_BATCH)
      if (waiting === undefined || queued === undefined) return
      // The first step of a shape, calls, a capture and replays.
      for (let t = 0; t < 5; t++) {
        const rows = Int32Array.of(t % SMALL_BATCH, (t + 1) % SMALL_BATCH)
        const x = filled('x', [2, 2], backend.dtype, { start: 100 * t })
        const expected = await queued.stepRows(rows, x)
        const data = expected.data.slice().fill(-1)
        waiting.stepRowsSync(rows, x, data as FloatArray)
        expectAllclose(`rows at step ${t}`, data, expected.data, tolerance)
      }
      const expected = await queued.step(inputs.input)
      const data = expected.data.slice().fill(-1)
      waiting.stepSync(inputs.input, data as FloatArray)
      expectAllclose('all rows', data, expected.data, tolerance)
      const [state, expectedState] = [await waiting.state(), await queued.state()]
      expectAllclose('h', state.h.data, expectedState.h.data, tolerance)
      if (state.c) expectAllclose('c', state.c.data, expectedState.c?.data ?? [], tolerance)
      waiting.dispose()
      queued.dispose()
      expect(backend.stats().steppers).toBe(0)
    })

    test('move the states of single rows in and out', async () => {
      using backend = await open()
      const { rnn, params, inputs } = smallNetwork(backend, { cellMode: 'lstm', numProj: 2 })
      const stepper = anyStepper(rnn, params, SMALL_BATCH)
      await stepper.step(inputs.input)
      const whole = await lstmState(stepper)
      const { h, c } = await lstmState(stepper, [2, 0])
      expect([h.shape, c.shape]).toEqual([
        [2, 2, 2],
        [2, 2, 3],
      ])
      expect(rowOf(h, 0)).toEqual(rowOf(whole.h, 2))
      expect(rowOf(h, 1)).toEqual(rowOf(whole.h, 0))
      stepper.restore({ h, c }, [1, 2])
      const after = await lstmState(stepper)
      for (const [row, from] of [
        [0, 0],
        [1, 2],
        [2, 0],
      ] as const) {
        expect(rowOf(after.h, row)).toEqual(rowOf(whole.h, from))
        expect(rowOf(after.c, row)).toEqual(rowOf(whole.c, from))
      }
      stepper.reset([1])
      const cleared = await lstmState(stepper)
      for (const states of [cleared.h, cleared.c]) {
        expect(rowOf(states, 1).every((value) => value === 0)).toBe(true)
        for (const row of [0, 2]) expect(rowOf(states, row)).not.toEqual(rowOf(states, 1))
      }
      stepper.restore(whole)
      expect(await stepper.state()).toEqual(whole)
      stepper.reset()
      expect((await stepper.state()).h.data.every((value) => value === 0)).toBe(true)
      stepper.dispose()
      expect(backend.stats().steppers).toBe(0)
    })

    test('refuse wrong rows, and change nothing then', async () => {
      using backend = await open()
      const { rnn, params, inputs } = smallNetwork(backend, { cellMode: 'lstm', numProj: 2 })
      if (rnn.stepper === undefined) return
      const stepper = rnn.stepper(params, SMALL_BATCH)
      stepper.stepSync(inputs.input)
      const before = stepper.state()
      const pair = stepper.state([2, 0])
      expect(() => stepper.restore(pair, [1, 1])).toThrow(coded('ERR_STREAM_ROW'))
      expect(() => stepper.restore(pair, [1])).toThrow(coded('ERR_SHAPE'))
      const x = filled('x', [2, 2], backend.dtype)
      expect(() => stepper.stepRowsSync([0, 3], x)).toThrow(coded('ERR_STREAM_ROW'))
      expect(() => stepper.stepRowsSync([0, 0], x)).toThrow(coded('ERR_STREAM_ROW'))
      expect(() => stepper.stepRowsSync([0], x)).toThrow(coded('ERR_SHAPE'))
      expect(stepper.state()).toEqual(before)
    })

    test('are refused once their parameters or their network were disposed', async () => {
      using backend = await open()
      const { rnn, params, inputs } = smallNetwork(backend, { cellMode: 'gru' })
      const stepper = anyStepper(rnn, params, SMALL_BATCH)
      const queued = rnn.queuedStepper?.(params, SMALL_BATCH)
      const { h } = await stepper.state()
      params.dispose()
      await expect(stepper.step(inputs.input)).rejects.toThrow(coded('ERR_TENSOR_DISPOSED'))
      queued?.checkCanStep()
      rnn.dispose()
      if (queued !== undefined) {
        expect(() => queued.checkCanStep()).toThrow(coded('ERR_RNN_DISPOSED'))
        queued.dispose()
        expect(() => queued.checkCanStep()).toThrow(coded('ERR_STREAM_DISPOSED'))
      }
      await expect(stepper.step(inputs.input)).rejects.toThrow(coded('ERR_RNN_DISPOSED'))
      expect((await stepper.state()).h).toEqual(h)
      stepper.dispose()
      await expect(stepper.state()).rejects.toThrow(coded('ERR_STREAM_DISPOSED'))
    })
  })
}

type Calls = 'step' | 'stepRows' | 'reset' | 'state' | 'restore' | 'dispose'

/** The stepper of an executor of either kind, as one that computes elsewhere. */
function anyStepper(rnn: Rnn, params: TensorLike, batch: number) {
  const queued = rnn.queuedStepper?.(params, batch)
  if (queued !== undefined) {
    const numbers = (rows?: readonly number[]) => rows && Int32Array.from(rows)
    return {
      step: (input: Tensor) => queued.step(input),
      stepRows: (rows: readonly number[], input: Tensor) => queued.stepRows(Int32Array.from(rows), input),
      reset: (rows?: readonly number[]) => queued.reset(numbers(rows)),
      state: (rows?: readonly number[]) => queued.state(numbers(rows)),
      restore: (state: RnnStreamState, rows?: readonly number[]) => queued.restore(state, numbers(rows)),
      dispose: () => queued.dispose(),
    } satisfies Record<Calls, unknown>
  }
  const own = required(rnn.stepper?.(params, batch), 'executors have a stepper of one of both kinds')
  return {
    step: async (input: Tensor) => own.stepSync(input),
    stepRows: async (rows: readonly number[], input: Tensor) => own.stepRowsSync(rows, input),
    reset: (rows?: readonly number[]) => own.reset(rows),
    state: async (rows?: readonly number[]) => own.state(rows),
    restore: (state: RnnStreamState, rows?: readonly number[]) => own.restore(state, rows),
    dispose: () => own.dispose(),
  } satisfies Record<Calls, unknown>
}

/** The states of an LSTM, which has both. */
async function lstmState({ state }: ReturnType<typeof anyStepper>, rows?: readonly number[]) {
  const { h, c } = await state(rows)
  return { h, c: required(c, 'an LSTM has a cell state') }
}

/** The part [L,1,·] of states [L,B,·] that belongs to one row. */
function rowOf({ data, shape: [layers = 0, batch = 0, columns = 0] }: Tensor, row: number): number[] {
  return Array.from({ length: layers }, (_, layer) => {
    const begin = (layer * batch + row) * columns
    return Array.from(data.slice(begin, begin + columns))
  }).flat()
}
