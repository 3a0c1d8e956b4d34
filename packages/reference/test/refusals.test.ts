import { wrongCalls } from '@cudnn-rnn/conformance'
import { CHECKED_ROWS } from '@cudnn-rnn/ops/executor'
import { expect, it } from 'vitest'
import { openReferenceBackend } from '../src/index.js'

it('refusals of operations keep their codes and messages', async () => {
  using backend = openReferenceBackend()
  using elsewhere = openReferenceBackend()
  const lines: string[] = []
  for (const row of CHECKED_ROWS) {
    for (const [title, , call] of row.row.isOfDevices ? [] : wrongCalls(row, backend, elsewhere)) {
      try {
        call()
        lines.push(`${title} | taken`)
      } catch (error) {
        const { code, message } = error as { readonly code?: string; readonly message: string }
        lines.push(`${title} | ${code} | ${message}`)
      }
    }
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('../../../fixtures/operations/refusals.txt')
})
