import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { checkErrorCodes, errorRows } from '../checks/error_codes.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')

test('every error code of the sources is on docs/errors.md with meaning and remedy, and in the type made of it', () => {
  const { failures, count } = checkErrorCodes(root)
  expect(failures).toEqual([])
  expect(count).toBeGreaterThan(100)
  expect(errorRows(root)).toContainEqual(
    expect.objectContaining({ code: 'ERR_SHAPE', packageName: '@cudnn-rnn/ops/executor' }),
  )
})
