import { CELL_MODES, type CellMode } from '@cudnn-rnn/canonical'
import { describe, expect, test } from 'vitest'
import { expectAllclose } from './closeness.js'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { filled } from './fills.js'
import { readAll, SMALL_BATCH, SMALL_TIME, smallNetwork } from './small_network.js'

const coded = (code: string) => expect.objectContaining({ code })

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
      const columns = whole['output']!.length / (SMALL_TIME * SMALL_BATCH)
      const out = filled('x', [SMALL_BATCH, columns], backend.dtype)
      for (let t = 0; t < SMALL_TIME; t++) {
        const input = {
          data: inputs.input.data.slice(t * SMALL_BATCH * 2, (t + 1) * SMALL_BATCH * 2),
          shape: [SMALL_BATCH, 2],
        }
        expect(stepper.stepSync(input, out)).toBe(out)
        const expected = whole['output']!.slice(t * SMALL_BATCH * columns, (t + 1) * SMALL_BATCH * columns)
        expectAllclose(`output at step ${t}`, out.data, expected, tolerance)
      }
      expectAllclose('h', stepper.state().h.data, whole['outputH']!, tolerance)
      if (options.cellMode === 'lstm') expectAllclose('c', stepper.state().c?.data ?? [], whole['outputC']!, tolerance)
      stepper.dispose()
      expect(backend.stats().steppers).toBe(0)
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
