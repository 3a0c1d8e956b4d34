import { CHECKED_ROWS } from '@cudnn-rnn/ops/executor'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { exampleCall, methodOf, wrongCalls } from './operation_calls.js'

/** Every operation with a row takes the arguments of its row, and refuses each wrong one with its code, changing nothing. */
export function registerOperationConformance({ open, dtype }: ExecutorUnderTest): void {
  describe('operations check their arguments by their rows', () => {
    test.each(CHECKED_ROWS.map((checked) => [checked.name, checked] as const))('%s', async (_, checked) => {
      using backend = await open()
      using elsewhere = await open()
      const method = methodOf(backend, checked)
      if (method === undefined) return expect(checked.row.isOfDevices).toBe(true)
      const given = exampleCall(checked, dtype)
      const made = await method(...given)
      const tensors = 'dispose' in (made as object) ? [made] : Object.values(made as object)
      expect(tensors).toHaveLength(checked.results.length)
      const stats = backend.stats()
      for (const [title, code, call] of wrongCalls(checked, backend, elsewhere)) {
        expect(call, title).toThrow(coded(code))
        expect(backend.stats(), title).toEqual(stats)
      }
      backend.dispose()
      expect(() => method(...given)).toThrow(coded('ERR_BACKEND_DISPOSED'))
    })
  })
}
