import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { TARGETS } from '../build/cross/targets.mjs'
import { ADDONS, OWNERS, platformManifest, platformPackages } from '../build/platforms.mjs'
import { readJson } from '../workspace.mjs'

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
