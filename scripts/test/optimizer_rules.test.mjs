import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { checkOptimizerRules, optimizerRules } from '../checks/optimizer_rules.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')

test('docs/optimizer_rules.md is made of the table', async () => {
  expect(await checkOptimizerRules(root)).toEqual([])
})

test('the C++ kernels have every rule but sgd, which is addScaled, in the order of UPDATE_RULES', async () => {
  const kernelsOf = (file, list, name) => {
    const [, body] = list.exec(readFileSync(join(root, file), 'utf8'))
    return [...body.matchAll(name)].map(([, kernel]) => kernel[0].toLowerCase() + kernel.slice(1))
  }
  const header = kernelsOf(
    'native/cpu/src/dense/optimizer_updates.h',
    /enum class UpdateRule \{([^}]*)\}/,
    /\bk([A-Z]\w*)/g,
  )
  const boundary = kernelsOf(
    'packages/ops/src/executor/kernels/kernel_boundary.ts',
    /UPDATE_RULES = Object\.freeze\(\[([^\]]*)\]/,
    /'(\w+)'/g,
  )
  expect(boundary).toEqual(header)
  const rules = Object.keys(await optimizerRules(root)).filter((rule) => rule !== 'sgd')
  expect(rules.length).toBeGreaterThan(4)
  expect(boundary).toEqual(expect.arrayContaining(rules))
})
