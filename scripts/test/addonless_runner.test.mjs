import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const open = `const open = (why) => { throw new Error('Cannot open backend "cpu" as it does not work here (cpu: ' + why + '). Install it.') }
const absent = () => open('its addon is not installed')
import { afterAll, beforeAll, expect, it } from 'vitest'
`
const FILES = {
  alone: `it('opens', absent)\nit('opens one that does not load', () => open('cudnn_rnn_cpu.node: cut off'))
it('compares a program', () => { try { absent() } catch ({ message }) { expect({ stderr: message + '\\n' }).toEqual({ stderr: '' }) } })
it('passes', () => {})`,
  hook: `let opened\nbeforeAll(() => { opened = absent() })\nafterAll(() => opened.dispose())\nit('uses it', () => {})`,
  collected: `absent()\nit('uses it', () => {})`,
}

it('AddonlessRunner skips tests that open cpu without its addon, and no test of an addon that does not load', () => {
  // Below the repository, whose vitest it imports.
  mkdirSync(join(root, 'node_modules/.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, 'node_modules/.cache/addonless-'))
  try {
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, `${name}.test.mjs`), open + text)
    const runner = join(root, 'scripts/testing/addonless_runner.ts')
    const options = {
      root: folder,
      runner,
      isolate: false,
      reporters: ['json'],
      outputFile: join(folder, 'results.json'),
      exclude: [],
    }
    writeFileSync(join(folder, 'vitest.config.mjs'), `export default { test: ${JSON.stringify(options)} }`)
    spawnSync(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), 'run'], { cwd: folder })
    const { testResults } = JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8'))
    const named = testResults.flatMap(({ name, status, assertionResults }) => [
      [/(\w+)\.test/.exec(name)[1], status],
      ...assertionResults.map(({ title, status: outcome }) => [title, outcome]),
    ])
    expect(Object.fromEntries(named)).toEqual({
      ...{ alone: 'failed', opens: 'skipped', 'opens one that does not load': 'failed', passes: 'passed' },
      ...{ 'compares a program': 'skipped', hook: 'passed', 'uses it': 'skipped', collected: 'passed' },
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
