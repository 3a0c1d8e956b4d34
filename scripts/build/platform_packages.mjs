// The platform packages of the addons (platforms.mjs):
//   node scripts/build/platform_packages.mjs write          writes their manifests and READMEs, and the manifests of dependents
//   node scripts/build/platform_packages.mjs stage FOLDER   puts the addons below FOLDER into them, before a release; an addon
//                                                     is in <addon>/prebuilds/<platform>/, as build_native.mjs leaves it
//   node scripts/build/platform_packages.mjs check          fails while one of them lacks its addon: nothing empty is published
import { copyFileSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ADDONS, CUBINS, OWNERS, platformManifest, platformPackages } from './platforms.mjs'
import { readJson } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

const commands = {
  write() {
    for (const each of platformPackages()) {
      const folder = join(root, each.folder)
      mkdirSync(folder, { recursive: true })
      writeJson(join(folder, 'package.json'), platformManifest(root, each))
      writeFileSync(join(folder, 'README.md'), readme(each))
    }
    for (const addon of Object.keys(ADDONS)) {
      const path = join(root, 'packages', OWNERS[addon], 'package.json')
      const names = platformPackages().filter((each) => each.addon === addon)
      writeJson(path, {
        ...readJson(path),
        optionalDependencies: Object.fromEntries(names.map(({ name }) => [name, 'workspace:*'])),
      })
    }
  },
  stage(from) {
    if (from === undefined) throw new Error('Cannot stage as a folder with the built addons must be named')
    for (const { addon, platform, file, folder } of platformPackages()) {
      const built = join(resolve(from), addon, 'prebuilds', platform, file)
      if (existsSync(built)) copyFileSync(built, join(root, folder, file))
      // Machine code of GPUs is the same for all platforms.
      const cubins = join(resolve(from), addon, 'prebuilds/linux-x64-gnu', CUBINS)
      if (existsSync(cubins)) cpSync(cubins, join(root, folder, CUBINS), { recursive: true })
    }
    commands.check()
  },
  check() {
    const empty = platformPackages().filter(({ folder, file }) => !existsSync(join(root, folder, file)))
    for (const { name, file } of empty) console.error(`${name}: lacks ${file}`)
    console.log(`Platform packages: ${platformPackages().length}, ${empty.length} without their addon`)
    if (empty.length > 0) process.exitCode = 1
  },
}

function readme({ addon, platform, name }) {
  return `# ${name}

The addon of [\`@cudnn-rnn/${OWNERS[addon]}\`](https://www.npmjs.com/package/@cudnn-rnn/${OWNERS[addon]}) for ${platform}. That package depends on it: install that package instead.
`
}

function writeJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)
}

const [name, argument] = process.argv.slice(2)
if (!Object.hasOwn(commands, name ?? '')) throw new Error(`Commands: ${Object.keys(commands).join(', ')}`)
commands[name](argument)
