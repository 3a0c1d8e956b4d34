import { hasErrorCode } from '@cudnn-rnn/canonical/rules'
import { type AnyBackendTensor, isBackendTensor } from '@cudnn-rnn/ops'
import { CHECKED_ROWS } from '@cudnn-rnn/ops/executor'
import { describe, expect, test } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import type { ExecutorUnderTest } from './executor_under_test.js'
import { exampleCall, methodOf, wrongCalls } from './operation_calls.js'

const tensorsOf = (made: unknown): readonly AnyBackendTensor[] =>
  isBackendTensor(made) ? [made] : Object.values(made as Readonly<Record<string, AnyBackendTensor>>)

/** The codes by which values of options are refused. `refusals.test` of the reference records the one of each value. */
const CODES_OF_VALUES = [
  ...['ERR_INVALID_OPTION', 'ERR_INVALID_OPTION_TYPE', 'ERR_HYPERPARAMETER', 'ERR_SHAPE', 'ERR_ID_OUT_OF_RANGE'],
  ...['ERR_OUT_OF_MEMORY', 'ERR_OUT_OF_DEVICE_MEMORY'],
]

/** A refusal by `code`; without one a result, which is disposed, or a refusal of the value. */
export async function expectOutcome(title: string, code: string | undefined, call: () => unknown): Promise<void> {
  if (code !== undefined) return expect(call, title).toThrow(coded(code))
  let made: unknown
  try {
    made = await call()
  } catch (error) {
    return expect(hasErrorCode(error, ...CODES_OF_VALUES), `${title}: ${error}`).toBe(true)
  }
  for (const tensor of tensorsOf(made)) tensor.dispose()
}

/** Every operation with a row takes the arguments of its row, and refuses each wrong one with its code, changing nothing. */
export function registerOperationConformance({ open, dtype }: ExecutorUnderTest): void {
  describe('operations check their arguments by their rows', () => {
    test.each(CHECKED_ROWS.map((checked) => [checked.name, checked] as const))('%s', async (_, checked) => {
      using backend = await open()
      using elsewhere = await open()
      const method = methodOf(backend, checked)
      if (method === undefined) return expect(checked.row.isOfDevices).toBe(true)
      const given = exampleCall(checked, dtype)
      expect(tensorsOf(await method(...given))).toHaveLength(checked.results.length)
      const stats = backend.stats()
      for (const [title, code, call] of wrongCalls(checked, backend, elsewhere)) {
        await expectOutcome(title, code, call)
        expect(backend.stats(), title).toEqual(stats)
      }
      backend.dispose()
      expect(() => method(...given)).toThrow(coded('ERR_BACKEND_DISPOSED'))
    })
  })
}
