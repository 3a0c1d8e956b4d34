import { expect, it } from 'vitest'
import { CHECKED_ROWS, type CheckedRow } from '../../../src/executor/index.js'
import { OPERATION_MEANINGS } from '../../../src/executor/operations/operation_meanings.js'

const HEAD = `# Operations

\`backend.ops\` has these operations, which make new tensors. Letters are sizes: T steps, B rows of a batch, E columns, I inputs, O outputs, V and K classes, U units; … are any leading dimensions. Class ids and lengths are int32 and in the range behind their name; everything else has the executor's dtype. An operand with ? may be absent. Options without a ? are required.

The statements \`assign\`, \`accumulate\`, \`update\` ([rules](optimizer_rules.md)), \`globalNorm\`, \`clipByGlobalNorm\` and \`clipByValue\` change tensors instead.

This page is made of the table \`OPERATIONS\` in \`packages/ops/src/executor/operations/table.ts\` by \`npx vitest run --project ops table -u\`. [Contributing](../CONTRIBUTING.md#add-an-operation) states how to add an operation.
`

function section(checked: CheckedRow): string {
  const { name, row, positional, options } = checked
  const code = (texts: readonly string[]) => texts.map((text) => `\`${text}\``).join(', ')
  const whole = CHECKED_ROWS.find(({ gradient }) => gradient === checked)
  const meaning = OPERATION_MEANINGS[(whole ?? checked).name as keyof typeof OPERATION_MEANINGS]
  const rules = [...positional, ...options].map(
    ({ name: option, rule }) => `| \`${option}${rule.isOptional ? '?' : ''}\` | ${rule.words} |`,
  )
  return `
## ${name}

${whole === undefined ? meaning : `The gradient of: ${meaning}`}.

Takes ${code(row.takes)}; gives ${code([...row.gives, ...(row.keeps ?? [])])}.${gradientOf(checked)}${row.isOfDevices ? ' On executors of devices alone.' : ''}
${rules.length === 0 ? '' : `\n| option | values |\n|---|---|\n${rules.join('\n')}\n`}`
}

function gradientOf({ row, gradient }: CheckedRow): string {
  if (gradient !== undefined) return ` Its gradient is \`${gradient.name}\`.`
  if (row.gradient === undefined) return ''
  return row.gradient === 'zero' ? ' Its gradient is zero.' : ' Other operations compute its gradient.'
}

it('is the page of the operations', async () => {
  await expect(HEAD + CHECKED_ROWS.map(section).join('')).toMatchFileSnapshot('../../../../../docs/operations.md')
})
