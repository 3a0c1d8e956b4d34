import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { checkOptimizerRules, optimizerRules } from '../checks/optimizer_rules.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '')

test('docs/optimizer_rules.md is made of the table', async () => {
  expect(await checkOptimizerRules(root)).toEqual([])
})

test('the C++ kernels have the operations of KERNEL_OPERATIONS in their order, and every rule but sgd, which is addScaled', async () => {
  const kernelsOf = (file, list, name) => {
    const [, body] = list.exec(readFileSync(join(root, file), 'utf8'))
    return [...body.matchAll(name)].map(([, kernel]) => kernel[0].toLowerCase() + kernel.slice(1))
  }
  const header = kernelsOf('native/cpu/src/dense/operations.h', /enum class Operation \{([^}]*)\}/, /\bk([A-Z]\w*)/g)
  const boundary = 'packages/ops/src/executor/kernels/kernel_boundary.ts'
  const rows = kernelsOf(boundary, /ROW_NUMBERS = Object\.freeze\(\{([^}]*)\}/, /^ {2}(\w+):/gm)
  const updates = kernelsOf(boundary, /UPDATES = \[([^\]]*)\]/, /'(\w+)'/g)
  expect([...rows, ...updates]).toEqual(header)
  const rules = Object.keys(await optimizerRules(root)).filter((rule) => rule !== 'sgd')
  expect(rules.length).toBeGreaterThan(4)
  expect(updates).toEqual(expect.arrayContaining(rules))
})
