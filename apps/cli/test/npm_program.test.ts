import { expect, it } from 'vitest'
import { npmProgram } from '../src/data_package.js'

const node = 'C:\\Program Files\\nodejs\\node.exe'
const beside = 'C:\\Program Files\\nodejs\\node_modules\\npm\\bin\\npm-cli.js'
const global = 'C:\\Users\\me\\npm\\node_modules\\npm\\bin\\npm-cli.js'

it('npmProgram is npm on systems that start scripts without a shell', () => {
  expect(npmProgram({ platform: 'linux' })).toEqual({ file: 'npm', before: [] })
})

it.each([
  ['beside Node.js', { env: {}, exists: (path: string) => path === beside }, beside],
  [
    'in a folder of the path',
    { env: { Path: 'C:\\Windows;C:\\Users\\me\\npm' }, exists: (path: string) => path === global },
    global,
  ],
  ['that started this program', { env: { npm_execpath: global }, exists: () => true }, global],
  ['and not pnpm', { env: { npm_execpath: 'C:\\pnpm\\pnpm.cjs' }, exists: () => true }, beside],
])('npmProgram runs the script of npm by Node.js on Windows: the npm %s', (_, place, script) => {
  expect(npmProgram({ platform: 'win32', node, ...place })).toEqual({ file: node, before: [script] })
})
