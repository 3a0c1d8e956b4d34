// A release in two steps, which the workflow and its rehearsal share:
//   node scripts/build/release.mjs pack FOLDER [TAG]           packs every package that is published; all have the version of the tag
//   node scripts/build/release.mjs publish FOLDER [OPTION…]    publishes the files of the folder by npm, dependencies first; versions of
//                                                        the registry are left out, so that a release that failed can go on
import { mkdirSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { manifestOf } from './loopback_registry.mjs'
import { pack, run } from './packed_packages.mjs'
import { platformPackages } from './platforms.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'
import { publicPackages, readJson } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

const publishedNames = () => [
  ...publicPackages(root, readJson(join(root, 'scripts/layers.json'))).map(({ packageName }) => packageName),
  ...platformPackages().map(({ name }) => name),
]

/** The packed packages of a folder as { file, manifest }, each after those that it depends on. */
function inOrder(folder) {
  const packed = new Map(
    readdirSync(folder)
      .filter((name) => name.endsWith('.tgz'))
      .map((name) => join(folder, name))
      .map((file) => [manifestOf(file).name, { file, manifest: manifestOf(file) }]),
  )
  const ordered = new Set()
  const add = (each) => {
    if (each === undefined || ordered.has(each)) return
    const { dependencies, optionalDependencies } = each.manifest
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) add(packed.get(name))
    ordered.add(each)
  }
  for (const name of [...packed.keys()].sort()) add(packed.get(name))
  return [...ordered]
}

/** Packs every package that is published into `folder`, and fails unless all have the version of the tag; resolves to `folder`. */
export function packAll(folder, tag) {
  mkdirSync(folder, { recursive: true })
  pack(root, publishedNames(), folder)
  const versions = [...new Set(inOrder(folder).map(({ manifest }) => `v${manifest.version}`))]
  if (versions.length !== 1 || versions[0] !== (tag ?? versions[0]))
    throw new Error(`The packages are ${versions.join(', ')}, not ${tag ?? 'of one version'}`)
  return folder
}

/** Publishes the packages in `folder`, with npm's `options`, from a folder with npm's configuration; resolves to the names. */
export async function publish(folder, options, cwd = root) {
  const published = []
  for (const { file, manifest } of inOrder(folder)) {
    const version = `${manifest.name}@${manifest.version}`
    const found = await run('npm', ['view', version, 'version', '--prefer-online'], cwd).catch(({ message }) => {
      if (!message.includes('E404')) throw new Error(message)
      return ''
    })
    if (found.trim() !== '') continue
    await run('npm', ['publish', file, '--access', 'public', ...options], cwd)
    published.push(version)
  }
  return published
}

async function main([command, folder, ...rest]) {
  ownTemporaryFolder()
  if (!['pack', 'publish'].includes(command) || folder === undefined) throw new Error('pack FOLDER, or publish FOLDER')
  const place = resolve(folder)
  if (command === 'publish') {
    for (const name of await publish(place, rest))
      console.log(`${rest.includes('--dry-run') ? 'would publish' : 'published'} ${name}`)
    return
  }
  packAll(place, rest[0])
  console.log(`Packed ${inOrder(place).length} packages`)
}
if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2))
