import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

it('the table of commands agrees with the prototypes', () => {
  const script = fileURLToPath(new URL('../../../scripts/build/generate_commands.mjs', import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script], {
    encoding: 'utf8',
    timeout: 100_000,
    killSignal: 'SIGKILL',
  })
  expect(stderr).toBe('')
  expect(status).toBe(0)
})
