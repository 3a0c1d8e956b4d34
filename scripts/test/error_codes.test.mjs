import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { checkErrorCodes, errorCodes } from '../checks/error_codes.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')

test('every error code of the sources is in one table, with meaning and remedy, and on docs/errors.md', async () => {
  const { failures, count } = await checkErrorCodes(root)
  expect(failures).toEqual([])
  expect(count).toBeGreaterThan(100)
  expect((await errorCodes(root)).get('ERR_SHAPE')).toMatchObject({ packageName: '@cudnn-rnn/ops/executor' })
})
