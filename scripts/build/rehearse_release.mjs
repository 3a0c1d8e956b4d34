// A release on this machine: node scripts/build/rehearse_release.mjs [--managers npm,pnpm,yarn,bun] [--table FILE] [PLATFORM…]
// Packs all packages, publishes them by npm to a registry on the loopback interface under the tag `next`, and again, which must
// publish nothing; installs `@cudnn-rnn/rnn@next` by each package manager for each platform, which must bring the addon of that
// platform alone; and runs the first program where this machine runs or emulates the platform. Build first, and stage addons
// (platform_packages.mjs stage .cross): without its addon a platform is resolved, not run.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { missingRuntime, runOn } from './cross/runtimes.mjs'
import { openRegistry } from './loopback_registry.mjs'
import { npmPackage } from './npm_package.mjs'
import { FIRST_PROGRAM, pnpm, run } from './packed_packages.mjs'
import { ADDONS, PLATFORMS } from './platforms.mjs'
import { packAll, publish } from './release.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

const TAG = 'next'
const write = (folder, files) => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}
const scoped = ({ url }) => ({ '.npmrc': `@cudnn-rnn:registry=${url}\n${url.replace('http:', '')}:_authToken=none\n` })

/** How each manager installs into an empty folder: files there, and its command. */
const MANAGERS = {
  npm: {
    files: scoped,
    command: (what, { os, cpu, libc }) => [
      ...['npm', 'install', what, '--no-audit', '--no-fund', `--os=${os}`, `--cpu=${cpu}`],
      ...(libc === undefined ? [] : [`--libc=${libc}`]),
    ],
  },
  pnpm: {
    files: (registry, { os, cpu, libc }) => ({
      ...scoped(registry),
      // Links would hide the packages from wine.
      'pnpm-workspace.yaml': `nodeLinker: hoisted\nsupportedArchitectures: ${JSON.stringify({ os: [os], cpu: [cpu], libc: [libc ?? 'glibc'] })}\n`,
    }),
    command: (what) => [pnpm, 'add', what],
  },
  yarn: {
    files: ({ url, upstream, cache }, { os, cpu, libc }) => ({
      'yarn.lock': '',
      '.yarnrc.yml': [
        // It caches the packages of another rehearsal's registry, which had another port.
        ...['nodeLinker: node-modules', 'enableTelemetry: false', `globalFolder: "${cache}"`],
        ...[`npmRegistryServer: "${upstream}"`, `npmScopes: { cudnn-rnn: { npmRegistryServer: "${url}" } }`],
        ...['unsafeHttpWhitelist: ["127.0.0.1"]'],
        `supportedArchitectures: ${JSON.stringify({ os: [os], cpu: [cpu], libc: [libc ?? 'glibc'] })}\n`,
      ].join('\n'),
    }),
    command: (what) => [process.execPath, join(npmPackage('@yarnpkg/cli-dist@4.18.1'), 'bin/yarn.js'), 'add', what],
  },
  bun: {
    // It caches packages by their names and versions.
    files: (registry) => ({ ...scoped(registry), 'bunfig.toml': `[install.cache]\ndir = "${registry.cache}-bun"\n` }),
    command: (what, { os, cpu, libc }) => [
      ...[join(npmPackage('@oven/bun-linux-x64@1.4.5'), 'bin/bun'), 'add', what, '--linker', 'hoisted'],
      ...[`--os=${os}`, `--cpu=${cpu}`, `--libc=${libc ?? 'glibc'}`],
    ],
  },
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { managers: { type: 'string', default: Object.keys(MANAGERS).join() }, table: { type: 'string' } },
})
const managers = values.managers.split(',')
const platforms = positionals.length > 0 ? positionals : ADDONS.cpu

ownTemporaryFolder()
const work = mkdtempSync(join(tmpdir(), 'release-'))
const registry = await openRegistry([])
registry.cache = join(work, 'cache')
registry.upstream = (await run('npm', ['config', 'get', 'registry'], work)).trim()
const rows = []
let failures = 0
try {
  const tarballs = packAll(join(work, 'tarballs'))
  const author = folderWith(scoped(registry))
  const published = await publish(tarballs, ['--tag', TAG, '--provenance=false'], author)
  const again = await publish(tarballs, ['--tag', TAG, '--provenance=false'], author)
  if (again.length > 0) throw new Error(`published twice: ${again.join(', ')}`)
  console.log(`Published ${published.length} packages, from ${published[0]} to ${published.at(-1)}`)
  for (const platform of platforms) {
    const cells = []
    for (const manager of managers) {
      cells.push(
        await resultOf(manager, platform).catch(({ message }) => {
          failures++
          console.error(`${manager} for ${platform}: ${message}`)
          return 'FAILED'
        }),
      )
    }
    rows.push([platform, ...cells])
    console.log(rows.at(-1).join(': '))
  }
} finally {
  registry.close()
  rmSync(work, { recursive: true, force: true })
}
const table = [['platform', ...managers], managers.concat('').map(() => '---'), ...rows]
const text = table.map((cells) => `| ${cells.join(' | ')} |\n`).join('')
console.log(text)
if (values.table !== undefined) writeFileSync(values.table, text)
console.log(`Rehearsal: ${rows.length * managers.length} installations, ${failures} failures`)
process.exitCode = failures === 0 ? 0 : 1

function folderWith(files) {
  const folder = mkdtempSync(join(work, 'empty-'))
  write(folder, { 'package.json': '{ "private": true }', ...files })
  return folder
}

/** Installs; resolves to "ran" or "resolved". */
async function resultOf(manager, platform) {
  const { files, command } = MANAGERS[manager]
  const folder = folderWith(files(registry, PLATFORMS[platform]))
  try {
    const [program, ...args] = command(`@cudnn-rnn/rnn@${TAG}`, PLATFORMS[platform])
    await run(program, args, folder)
    const scope = join(folder, 'node_modules/@cudnn-rnn')
    const installed = readdirSync(scope).filter((name) => name.startsWith('native-cpu-'))
    const wanted = `native-cpu-${platform}`
    if (installed.join() !== wanted) throw new Error(`it installed ${installed.join(', ') || 'no addon'}`)
    const isBuilt = existsSync(join(scope, wanted, 'cudnn_rnn_cpu.node'))
    if (!isBuilt || missingRuntime(platform)?.length !== 0) return isBuilt ? 'resolved' : 'resolved without its addon'
    write(folder, { 'first.mjs': FIRST_PROGRAM })
    const log = join(folder, 'log')
    const first = (path) => [path(join(folder, 'first.mjs'))]
    const { passed, ending } = runOn(platform, first, { cwd: folder, log, work, timeout: 180_000 })
    const output = readFileSync(log, 'utf8')
    // Wine prints its first start before it.
    if (!passed || output.trim().split('\n').at(-1) !== 'cpu true') throw new Error(`${ending}: ${output}`)
    return 'ran'
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
