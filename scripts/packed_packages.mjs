// Packs the packages to publish and serves them from a local registry, to be installed with npm into empty folders.
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openRegistry } from './loopback_registry.mjs'
import { platformPackages } from './platforms.mjs'
import { readJson, workspacePackages } from './workspace.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const shell = process.platform === 'win32'

/** The addon that was staged for a release, or else the one built here. */
export function addonOf({ addon, platform, file, folder }) {
  return [join(root, folder, file), join(root, 'native', addon, 'prebuilds', platform, file)].find(existsSync)
}

/**
 * Packs `packageNames`, all that they depend on in the workspace and the platform packages; resolves to
 * { install, close }. `close` removes every installation too.
 */
export async function packPackages(packageNames) {
  const work = mkdtempSync(join(tmpdir(), 'cudnn-rnn-packed-'))
  const tarballs = join(work, 'tarballs')
  const packages = workspacePackages(root, readJson(join(root, 'scripts/layers.json')))
  const packed = new Set()

  function pack(folder) {
    const { status, stdout, stderr } = spawnSync('pnpm', ['pack', '--pack-destination', tarballs], {
      ...{ cwd: folder, shell, encoding: 'utf8' },
    })
    if (status !== 0) throw new Error(`${folder} cannot be packed\n${stdout}${stderr}`)
  }
  function packWithDependencies(packageName) {
    if (packed.has(packageName)) return
    packed.add(packageName)
    const { folder, manifest } = packages.find((each) => each.packageName === packageName)
    pack(folder)
    Object.keys(manifest.dependencies ?? {})
      .filter((name) => name.startsWith('@cudnn-rnn/'))
      .forEach(packWithDependencies)
  }
  /** A platform package with its addon, where there is one: the others are never downloaded. */
  function packPlatform(each) {
    const copy = join(work, 'platforms', each.name)
    cpSync(join(root, each.folder), copy, { recursive: true })
    const addon = addonOf(each)
    if (addon !== undefined) copyFileSync(addon, join(copy, each.file))
    pack(copy)
  }

  function emptyFolder(registry) {
    const folder = mkdtempSync(join(work, 'empty-'))
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    writeFileSync(join(folder, '.npmrc'), `@cudnn-rnn:registry=${registry.url}\n`)
    return folder
  }

  try {
    mkdirSync(tarballs)
    packageNames.forEach(packWithDependencies)
    platformPackages().forEach(packPlatform)
    const registry = await openRegistry(readdirSync(tarballs).map((file) => join(tarballs, file)))
    return {
      /** Installs packages into an empty folder without running their scripts, by npm with `options`; resolves to the folder. */
      async install(names, options = []) {
        const folder = emptyFolder(registry)
        const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
        await run('npm', ['install', ...names, ...quiet, ...options], folder)
        return folder
      },
      /** Runs a program of a package by npx, in an empty folder; resolves to its standard output. */
      npx(args) {
        const cache = `--cache=${join(work, 'npx-cache')}`
        return run('npx', ['--yes', '--prefer-offline', cache, ...args], emptyFolder(registry))
      },
      close() {
        registry.close()
        rmSync(work, { recursive: true, force: true })
      },
    }
  } catch (error) {
    rmSync(work, { recursive: true, force: true })
    throw error
  }
}

/** Runs a command without blocking the registry; resolves to its standard output. */
export function run(command, args, cwd) {
  const child = spawn(command, args, { cwd, shell, env: { ...process.env, NO_COLOR: '1' } })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (data) => (stdout += data))
  child.stderr.on('data', (data) => (stderr += data))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (status) => {
      if (status === 0) resolve(stdout)
      else reject(new Error(`${command} ${args.join(' ')} ended with status ${status}\n${stdout}${stderr}`))
    })
  })
}
