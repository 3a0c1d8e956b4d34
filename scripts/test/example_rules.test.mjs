import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { exampleRules } from '../checks/example_rules.mjs'

const folder = join(mkdtempSync(join(tmpdir(), 'examples-')), 'node_modules/@cudnn-rnn')
const declarations = {
  'models/index.d.ts': 'export declare const model: number\nexport declare const own: number\n',
  'models/small.d.ts': "export { model } from './index.js'\n",
  'rnn/index.d.ts': "export { model as network } from '../models/index.js'\n",
  'rnn/models.d.ts': "export { model } from '../models/index.js'\n",
}
const entries = Object.entries(declarations).map(([file, text]) => {
  const types = join(folder, file)
  mkdirSync(join(types, '..'), { recursive: true })
  writeFileSync(types, text)
  return { entry: `@cudnn-rnn/${file.replace(/(\/index)?\.d\.ts$/, '')}`, types }
})

it.each([
  [
    'docs/a.md',
    "import { model } from '@cudnn-rnn/models'",
    ['import model from @cudnn-rnn/rnn/models, not from @cudnn-rnn/models'],
  ],
  [
    'docs/a.md',
    "import { type model as m } from '@cudnn-rnn/models'",
    ['import model from @cudnn-rnn/rnn/models, not from @cudnn-rnn/models'],
  ],
  ['docs/a.md', "import { own } from '@cudnn-rnn/models'", []],
  ['docs/a.md', "import { model } from '@cudnn-rnn/models/small'", []],
  ['docs/a.md', "import { model } from '@cudnn-rnn/rnn/models'\nimport { join } from 'node:path'", []],
  ['packages/models/README.md', "import { model } from '@cudnn-rnn/models'", []],
  ['packages/models/README.md', 'await using file = await open()', ['Node.js 20 has no `using`: dispose by a call']],
  ['docs/a.md', 'for (const a of []) {\n  using b = a\n}', ['Node.js 20 has no `using`: dispose by a call']],
  ['docs/a.md', '// using names\nconst using = 1', []],
])('exampleRules of %s: %j', (file, code, failures) => {
  expect(exampleRules([{ file, line: 3, code }], entries)).toEqual(failures.map((failure) => `${file}:3: ${failure}`))
})
