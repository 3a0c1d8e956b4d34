// Checks that the packages install and compute without a compiler: packs the facade, all that it depends on
// and the platform packages, and installs them with npm, from our own registry, into empty folders.
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { addonOf, FIRST_PROGRAM, FIRST_PROGRAM_REQUIRED, packPackages, run } from '../build/packed_packages.mjs'
import { ADDONS, OWNERS, PLATFORMS, platformPackages, thisPlatform } from '../build/platforms.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const here = thisPlatform()
const shell = process.platform === 'win32'

const checks = {
  async 'the facade computes on "cpu", imported and required'(install) {
    const folder = await install(['@cudnn-rnn/rnn'])
    writeFileSync(join(folder, 'a.mjs'), FIRST_PROGRAM)
    writeFileSync(join(folder, 'b.cjs'), FIRST_PROGRAM_REQUIRED)
    for (const program of ['a.mjs', 'b.cjs']) equal(await run(process.execPath, [program], folder), 'cpu true\n')
  },
  async 'the command line runs'(install) {
    const folder = await install(['@cudnn-rnn/cli'])
    const { selfTest } = JSON.parse(await run('npx', ['--no-install', 'cudnn-rnn', 'doctor', '--json'], folder))
    if (!selfTest.passed) throw new Error(`doctor's self-test failed: ${JSON.stringify(selfTest)}`)
  },
  async 'npx prints commands that start the program again'(_, npx) {
    const help = await npx(['@cudnn-rnn/cli', '--help'])
    const commands = [...help.matchAll(/^ +\$ (.*?)(?: {2}|$)/gm)].map(([, command]) => command)
    if (commands.length === 0 || commands.some((command) => !command.startsWith('npx @cudnn-rnn/cli ')))
      throw new Error(`other commands: ${commands.join('; ') || 'none'}`)
  },
  async 'a file whose reader is not installed names the command that installs it'(install) {
    const folder = await install(['@cudnn-rnn/rnn'])
    const hdf5 = 'Uint8Array.of(0x89, 0x48, 0x44, 0x46, 0x0d, 0x0a, 0x1a, 0x0a)'
    const program = `import('@cudnn-rnn/rnn').then(({ importWeights }) => importWeights(${hdf5})).catch(({ code, message }) => console.log(code, message.includes('npm install h5wasm')))`
    equal(await run(process.execPath, ['-e', program], folder), 'ERR_PACKAGE_MISSING true\n')
  },
  async 'an executor whose addon is left out reports it'(install) {
    const folder = await install(['@cudnn-rnn/cpu'], ['--omit=optional'])
    const program = `import('@cudnn-rnn/cpu').then(({ openCpuBackend }) => openCpuBackend()).catch(({ code }) => console.log(code))`
    equal(
      await run(process.execPath, ['-e', shell ? JSON.stringify(program) : program], folder),
      'ERR_BACKEND_UNAVAILABLE\n',
    )
  },
}
for (const [platform, { os, cpu, libc }] of Object.entries(PLATFORMS)) {
  checks[`all take the addons of ${platform} alone`] = async (install) => {
    const machine = [`--os=${os}`, `--cpu=${cpu}`, ...(libc === undefined ? [] : [`--libc=${libc}`])]
    const owners = Object.values(OWNERS).map((owner) => `@cudnn-rnn/${owner}`)
    const folder = await install(owners, machine)
    const addons = Object.keys(ADDONS)
    // Their dependencies may have their own addons.
    const installed = readdirSync(join(folder, 'node_modules/@cudnn-rnn')).filter((name) =>
      addons.some((addon) => name.startsWith(`native-${addon}-`)),
    )
    const expected = addons.filter((addon) => ADDONS[addon].includes(platform))
    equal(installed.join(), expected.map((addon) => `native-${addon}-${platform}`).join())
  }
}

function equal(actual, expected) {
  if (actual !== expected) throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`)
}

let failures = 0
const unbuilt = platformPackages().filter((each) => each.platform === here && addonOf(each) === undefined)
if (unbuilt.length > 0) {
  console.log(
    `Install: not checked, as ${unbuilt.map(({ name }) => name).join(', ')} was not built (npm run build:native)`,
  )
  if (process.env.CUDNN_RNN_REQUIRE_NATIVE === '1') failures++
} else {
  const packed = await packPackages()
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check(packed.install, packed.npx)
    } catch (error) {
      failures++
      console.error(`${name}: ${error.message}`)
    }
  }
  console.log(`Install: ${Object.keys(checks).length} checks, ${failures} failures`)
}
if (failures > 0) process.exitCode = 1
