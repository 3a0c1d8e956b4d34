import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { TARGETS } from '../build/cross/targets.mjs'
import { ADDONS, OWNERS, platformManifest, platformPackages } from '../build/platforms.mjs'
import { filesBelow, readJson } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

it.each(platformPackages().map((each) => [each.name, each]))(
  'platformManifest equals the manifest of %s',
  (_, each) => {
    expect(readJson(join(root, each.folder, 'package.json'))).toEqual(platformManifest(root, each))
    expect(existsSync(join(root, each.folder, 'README.md'))).toBe(true)
  },
)

it.each(Object.keys(ADDONS))('platformPackages of native/%s are the optional dependencies of its owner', (addon) => {
  const names = platformPackages()
    .filter((each) => each.addon === addon)
    .map(({ name }) => name)
  const { optionalDependencies } = readJson(join(root, 'packages', OWNERS[addon], 'package.json'))
  expect(optionalDependencies).toEqual(Object.fromEntries(names.map((name) => [name, 'workspace:*'])))
})

it('TARGETS of the cross build are the platforms of native/cpu', () => {
  expect(Object.keys(TARGETS).sort()).toEqual([...ADDONS.cpu].sort())
})

it('platformPackages have no install scripts', () => {
  for (const { folder } of platformPackages())
    expect(readJson(join(root, folder, 'package.json')).scripts).toBeUndefined()
})

it('docs/releasing.md lists the platformPackages', () => {
  const page = readFileSync(join(root, 'docs/releasing.md'), 'utf8')
  for (const [addon, platforms] of Object.entries(ADDONS))
    expect(page).toContain(`| \`${addon}\` | ${platforms.map((platform) => `\`${platform}\``).join(', ')} |`)
  expect(page).toContain(`all ${platformPackages().length} addons`)
})

it('platformPackages have the version of @cudnn-rnn/rnn, which the tag of a release names', () => {
  const { version } = readJson(join(root, 'packages/rnn/package.json'))
  expect(new Set(platformPackages().map((each) => platformManifest(root, each).version))).toEqual(new Set([version]))
})

it('scripts of package.json need no POSIX shell: cmd.exe sets no variables before a command, and knows double quotes alone', () => {
  const manifests = ['packages', 'apps', 'native'].flatMap((folder) =>
    filesBelow(root, join(root, folder), /^package\.json$/),
  )
  const scripts = ['package.json', ...manifests].flatMap((file) =>
    Object.entries(readJson(join(root, file)).scripts ?? {}).map(([name, script]) => `${file} ${name}: ${script}`),
  )
  expect(scripts.length).toBeGreaterThan(40)
  // Those that make a fixture need the libraries of Python too.
  const portable = scripts.filter((script) => !script.includes('python3 '))
  expect(portable.filter((script) => /(: |&& |\|\| )\w+=|'|\$|(: |&& )(mkdir|cp|mv|rm|cat) |;/.test(script))).toEqual(
    [],
  )
})
