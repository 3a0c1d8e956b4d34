// Packs the packages to publish and serves them from a local registry, to be installed with npm into empty folders.
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openRegistry } from './loopback_registry.mjs'
import { platformPackages } from './platforms.mjs'
import { readJson, workspacePackages } from '../workspace.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const shell = process.platform === 'win32'
/** The pinned release; none is needed elsewhere. */
export const pnpm = join(root, 'node_modules/.bin/pnpm')

const FORWARD = `
const forward = async ({ openBackend, CudnnLSTM }) => {
  const backend = await openBackend('cpu')
  const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 4, inputSize: 3 })
  const input = { data: new Float32Array(6).fill(1), shape: [2, 1, 3] }
  const { output } = await lstm.call(input, null, null, lstm.createParams({ seed: 1 }), { isTraining: false })
  console.log(backend.name, (await output.read()).data.every((value) => value !== 0 && Math.abs(value) < 1))
  backend.dispose()
}`

/** A program that prints "cpu true": an ECMAScript module, and one for CommonJS. */
export const FIRST_PROGRAM = `import * as rnn from '@cudnn-rnn/rnn'${FORWARD}\nawait forward(rnn)`
export const FIRST_PROGRAM_REQUIRED = `${FORWARD}\nforward(require('@cudnn-rnn/rnn'))`

/** The addon that was staged for a release, or else the one built here. */
export function addonOf({ addon, platform, file, folder }) {
  return [join(root, folder, file), join(root, 'native', addon, 'prebuilds', platform, file)].find(existsSync)
}

/**
 * Packs packages of the workspace at `folder` into `destination`, by pnpm as it publishes: it replaces exports that only the
 * workspace has. One process packs all, as most of its time is its start.
 */
export function pack(folder, names, destination) {
  const filters = names.flatMap((name) => ['--filter', name])
  const { status, stdout, stderr } = spawnSync(
    pnpm,
    ['--recursive', '--fail-if-no-match', ...filters, 'pack', '--pack-destination', destination],
    { cwd: folder, shell, encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`${names.join(', ')} cannot be packed\n${stdout}${stderr}`)
}

/** The packages that users install: those that they depend on are packed with them. */
const ENTRIES = ['@cudnn-rnn/rnn', '@cudnn-rnn/cli']

let packed
/**
 * Packs the facade, the command line, all that they depend on in the workspace and the platform packages, once in a process;
 * resolves to { install, npx }. The program's own temporary folder holds all, and ends with it.
 */
export const packPackages = () => (packed ??= packAndServe())

async function packAndServe() {
  const work = mkdtempSync(join(tmpdir(), 'cudnn-rnn-packed-'))
  const tarballs = join(work, 'tarballs')
  const packages = workspacePackages(root, readJson(join(root, 'scripts/layers.json')))

  /** The packages named and all that they depend on in the workspace. */
  function withDependencies(names, found = new Set()) {
    for (const name of names) {
      if (found.has(name) || !name.startsWith('@cudnn-rnn/')) continue
      const { manifest } = packages.find(({ packageName }) => packageName === name)
      withDependencies(Object.keys(manifest.dependencies ?? {}), found.add(name))
    }
    return found
  }
  /** The platform packages with their addons, if there are any: the others are never downloaded. */
  function packPlatforms() {
    const workspace = join(work, 'platforms')
    mkdirSync(workspace)
    writeFileSync(join(workspace, 'pnpm-workspace.yaml'), "packages: ['@cudnn-rnn/*']\n")
    for (const each of platformPackages()) {
      const copy = join(workspace, each.name)
      cpSync(join(root, each.folder), copy, { recursive: true })
      const addon = addonOf(each)
      if (addon !== undefined) copyFileSync(addon, join(copy, each.file))
    }
    pack(workspace, ['@cudnn-rnn/*'], tarballs)
  }

  function emptyFolder(registry) {
    const folder = mkdtempSync(join(work, 'empty-'))
    writeFileSync(join(folder, 'package.json'), '{ "private": true }')
    writeFileSync(join(folder, '.npmrc'), `@cudnn-rnn:registry=${registry.url}\n`)
    return folder
  }

  mkdirSync(tarballs)
  pack(root, [...withDependencies(ENTRIES)], tarballs)
  packPlatforms()
  const registry = await openRegistry(readdirSync(tarballs).map((file) => join(tarballs, file)))
  const installed = new Map()
  return {
    /**
     * Installs packages into an empty folder without running their scripts, by npm with `options`; resolves to the folder. The
     * same packages with the same options are in the same folder.
     */
    async install(names, options = []) {
      const key = JSON.stringify([names, options])
      if (installed.has(key)) return installed.get(key)
      const folder = emptyFolder(registry)
      const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
      await run('npm', ['install', ...names, ...quiet, ...options], folder)
      installed.set(key, folder)
      return folder
    },
    /** Runs a program of a package by npx, in an empty folder; resolves to its standard output. */
    npx(args) {
      const cache = `--cache=${join(work, 'npx-cache')}`
      return run('npx', ['--yes', '--prefer-offline', cache, ...args], emptyFolder(registry))
    },
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
