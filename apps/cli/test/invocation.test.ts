import { expect, it } from 'vitest'
import { installCommand, programCommand, shellWord } from '../src/invocation.js'

const cwd = '/home/me/work'
const npm = { npm_command: 'exec', npm_config_user_agent: 'npm/11.19.1 node/v20.20.2 linux x64' }
const pnpm = { npm_command: 'exec', npm_config_user_agent: 'pnpm/10.34.9 npm/? node/v20.20.2 linux x64' }
const modules = '/home/me/work/node_modules'

it.each([
  [
    'npx with a package that it fetched',
    '/home/me/.npm/_npx/1a2b/node_modules/.bin/cudnn-rnn',
    npm,
    'npx @cudnn-rnn/cli',
  ],
  ['npx with the package of a project', `${modules}/.bin/cudnn-rnn`, npm, 'npx cudnn-rnn'],
  ['npx in this repository', '/home/me/work/apps/cli/dist/bin.js', npm, 'npx cudnn-rnn'],
  ['a script of npm', 'apps/cli/dist/bin.js', { ...npm, npm_command: 'run' }, 'npx cudnn-rnn'],
  ['pnpm dlx', '/home/me/.cache/pnpm/dlx/1a2b/node_modules/.bin/cudnn-rnn', pnpm, 'pnpm dlx @cudnn-rnn/cli'],
  ['pnpm exec', `${modules}/.bin/cudnn-rnn`, pnpm, 'pnpm exec cudnn-rnn'],
  ['bunx', '/tmp/bunx-0-@cudnn-rnn/cli@latest/node_modules/.bin/cudnn-rnn', {}, 'bunx @cudnn-rnn/cli'],
  ['an installed program', '/usr/local/bin/cudnn-rnn', { PATH: '/bin:/usr/local/bin' }, 'cudnn-rnn'],
  ['a link that is not on the path', `${modules}/.bin/cudnn-rnn`, { PATH: '/bin' }, 'npx cudnn-rnn'],
  ['a shim of Windows, installed', '/programs/npm/node_modules/@cudnn-rnn/cli/dist/bin.js', {}, 'cudnn-rnn'],
  ['a shim of Windows in a project', `${modules}/@cudnn-rnn/cli/dist/bin.js`, {}, 'npx cudnn-rnn'],
  ['node', '/home/me/work/apps/cli/dist/bin.js', {}, 'node apps/cli/dist/bin.js'],
])('programCommand of %s', (_, script, env, expected) => {
  expect(programCommand({ script, env, cwd, platform: 'linux' })).toBe(expected)
})

it.each([
  ['a shim in a project', 'C:\\Users\\me\\work\\node_modules\\@cudnn-rnn\\cli\\dist\\bin.js', {}, 'npx cudnn-rnn'],
  ['a shim in a project above', 'C:\\USERS\\me\\node_modules\\@cudnn-rnn\\cli\\dist\\bin.js', {}, 'npx cudnn-rnn'],
  ['a shim in a project beside', 'C:\\Users\\me\\wor\\node_modules\\@cudnn-rnn\\cli\\dist\\bin.js', {}, 'cudnn-rnn'],
  ['an installed shim', 'D:\\npm\\node_modules\\@cudnn-rnn\\cli\\dist\\bin.js', {}, 'cudnn-rnn'],
  ['a program on the path', 'D:\\npm\\cudnn-rnn', { Path: 'C:\\Windows;D:\\npm' }, 'cudnn-rnn'],
  ['node', 'C:\\Users\\me\\work\\my apps\\bin.js', {}, 'node "my apps\\bin.js"'],
  ['node on another drive', 'D:\\apps\\bin.js', {}, 'node D:\\apps\\bin.js'],
  ['node on a share', '\\\\host\\share\\bin.js', {}, 'node \\\\host\\share\\bin.js'],
])('programCommand on Windows of %s', (_, script, env, expected) => {
  expect(programCommand({ script, env, cwd: 'C:\\Users\\me\\work', platform: 'win32' })).toBe(expected)
})

it.each([
  ['npx @cudnn-rnn/cli', "npx --package @cudnn-rnn/cli --package h5wasm cudnn-rnn import 'my net.keras'"],
  ['pnpm dlx @cudnn-rnn/cli', "pnpm --package @cudnn-rnn/cli --package h5wasm dlx cudnn-rnn import 'my net.keras'"],
  ['cudnn-rnn', 'npm install --global h5wasm'],
  ['npx cudnn-rnn', 'npm install h5wasm'],
])('installCommand puts a package where the program started by %s finds it', (command, expected) => {
  const quoted = process.platform === 'win32' ? expected.replaceAll("'", '"') : expected
  expect(installCommand('h5wasm', ['import', 'my net.keras'], command)).toBe(quoted)
})

it.each([
  ['runs/one', 'runs/one'],
  ['my runs/one', "'my runs/one'"],
  ["it's", "'it'\\''s'"],
  ["\x1b]0;'\\\n", "$'\\x1b]0;\\'\\\\\\n'"],
])('shellWord of %j is %s', (text, expected) => {
  expect(shellWord(text, 'linux')).toBe(expected)
})

it.each([
  ['runs\\one', 'runs\\one'],
  ['C:\\my runs\\one', '"C:\\my runs\\one"'],
  ['\x1b"', '"\\x1b\\""'],
])('shellWord on Windows of %j is %s', (text, expected) => {
  expect(shellWord(text, 'win32')).toBe(expected)
})
