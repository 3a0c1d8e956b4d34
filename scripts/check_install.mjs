// Proves that what would be published installs and computes without a compiler: packs the facade, all that it depends on
// and the platform packages, and installs them with npm, from a registry of our own, into empty folders.
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openRegistry } from './loopback_registry.mjs'
import { ADDONS, PLATFORMS, platformPackages, thisPlatform } from './platforms.mjs'
import { readJson, workspacePackages } from './workspace.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const here = thisPlatform()
const work = mkdtempSync(join(tmpdir(), 'cudnn-rnn-install-'))
const tarballs = join(work, 'tarballs')
const shell = process.platform === 'win32'

/** Runs a command without blocking the registry; resolves to its standard output. */
function run(command, args, cwd) {
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

/** Packs `packageName` of the workspace and what it depends on there. */
function packWithDependencies(packageName, packages, packed = new Set()) {
  const { folder, manifest } = packages.find((each) => each.packageName === packageName)
  packed.add(packageName)
  pack(folder)
  for (const name of Object.keys(manifest.dependencies ?? {})) {
    if (name.startsWith('@cudnn-rnn/') && !packed.has(name)) packWithDependencies(name, packages, packed)
  }
}

/** The addon that was staged for a release, or else the one built here. */
function addonOf({ addon, platform, file, folder }) {
  return [join(root, folder, file), join(root, 'native', addon, 'prebuilds', platform, file)].find(existsSync)
}

/** Packs a platform package with its addon, where there is one: the others are never to be downloaded. */
function packPlatform(each) {
  const copy = join(work, 'platforms', each.name)
  cpSync(join(root, each.folder), copy, { recursive: true })
  const addon = addonOf(each)
  if (addon !== undefined) copyFileSync(addon, join(copy, each.file))
  pack(copy)
}

function pack(folder) {
  const { status, stderr } = spawnSync('pnpm', ['pack', '--pack-destination', tarballs], {
    ...{ cwd: folder, shell, encoding: 'utf8' },
  })
  if (status !== 0) throw new Error(`${folder} cannot be packed\n${stderr}`)
}

/** Installs a package into an empty folder, nothing of it run, for `machine` (npm's options) or this one. */
async function install(packageName, registry, machine = []) {
  const folder = mkdtempSync(join(work, 'empty-'))
  writeFileSync(join(folder, 'package.json'), '{ "private": true }')
  writeFileSync(join(folder, '.npmrc'), `@cudnn-rnn:registry=${registry}\n`)
  const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', packageName, ...quiet, ...machine], folder)
  return folder
}

const PROGRAM = `
const forward = async ({ openBackend, CudnnLSTM }) => {
  const backend = await openBackend('cpu')
  const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 4, inputSize: 3 })
  const input = { data: new Float32Array(6).fill(1), shape: [2, 1, 3] }
  const { output } = await lstm.call(input, null, null, lstm.createParams({ seed: 1 }), { isTraining: false })
  console.log(backend.name, (await output.read()).data.every((value) => value !== 0 && Math.abs(value) < 1))
  backend.dispose()
}`

const checks = {
  async 'the facade computes on "cpu", imported and required'(registry) {
    const folder = await install('@cudnn-rnn/rnn', registry)
    writeFileSync(join(folder, 'a.mjs'), `import * as rnn from '@cudnn-rnn/rnn'${PROGRAM}\nawait forward(rnn)`)
    writeFileSync(join(folder, 'b.cjs'), `${PROGRAM}\nforward(require('@cudnn-rnn/rnn'))`)
    for (const program of ['a.mjs', 'b.cjs']) equal(await run(process.execPath, [program], folder), 'cpu true\n')
  },
  async 'an executor whose addon is left out says so'(registry) {
    const folder = await install('@cudnn-rnn/cpu', registry, ['--omit=optional'])
    const program = `import('@cudnn-rnn/cpu').then(({ openCpuBackend }) => openCpuBackend()).catch(({ code }) => console.log(code))`
    equal(
      await run(process.execPath, ['-e', shell ? JSON.stringify(program) : program], folder),
      'ERR_BACKEND_UNAVAILABLE\n',
    )
  },
}
for (const addon of Object.keys(ADDONS)) {
  for (const [platform, { os, cpu, libc }] of Object.entries({
    ...PLATFORMS,
    'linux-x64-musl': { os: 'linux', cpu: 'x64', libc: 'musl' },
  })) {
    checks[`${addon} takes the addon of ${platform} alone`] = async (registry) => {
      const machine = [`--os=${os}`, `--cpu=${cpu}`, ...(libc === undefined ? [] : [`--libc=${libc}`])]
      const folder = await install(`@cudnn-rnn/${addon}`, registry, machine)
      const installed = readdirSync(join(folder, 'node_modules/@cudnn-rnn')).filter((name) =>
        name.startsWith('native-'),
      )
      equal(installed.join(), ADDONS[addon].includes(platform) ? `native-${addon}-${platform}` : '')
    }
  }
}

function equal(actual, expected) {
  if (actual !== expected) throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`)
}

const unbuilt = platformPackages().filter((each) => each.platform === here && addonOf(each) === undefined)
if (unbuilt.length > 0) {
  console.log(
    `Install: not checked, as ${unbuilt.map(({ name }) => name).join(', ')} was not built (npm run build:native)`,
  )
  process.exit(process.env.CUDNN_RNN_REQUIRE_NATIVE === '1' ? 1 : 0)
}

let failures = 0
try {
  mkdirSync(tarballs)
  packWithDependencies('@cudnn-rnn/rnn', workspacePackages(root, readJson(join(root, 'scripts/layers.json'))))
  for (const each of platformPackages()) packPlatform(each)
  const { url, close } = await openRegistry(readdirSync(tarballs).map((file) => join(tarballs, file)))
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check(url)
    } catch (error) {
      failures++
      console.error(`${name}: ${error.message}`)
    }
  }
  close()
} finally {
  rmSync(work, { recursive: true, force: true })
}
console.log(`Install: ${Object.keys(checks).length} checks, ${failures} failures`)
process.exitCode = failures === 0 ? 0 : 1
