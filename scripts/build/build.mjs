// Builds the native addons if that is possible and every package, side by side and quietly: turbo's output is shown only
// when something fails.
//
//   node build.mjs               everything
//   node build.mjs --for-tests   the addons and the WebAssembly modules: tests import the sources of the packages
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

/** Compiles the addons. Returns the exit status. */
async function buildAddons() {
  const script = fileURLToPath(new URL('build_native.mjs', import.meta.url))
  const [status] = await once(spawn(process.execPath, [script], { stdio: 'inherit' }), 'close')
  return status ?? 1
}

/** Checks the types of all workspaces, and writes the declarations that the packages' builds bundle. Returns the exit status. */
async function checkTypes() {
  const tsc = spawn('tsc', ['--build'], { stdio: 'inherit', shell: process.platform === 'win32' })
  const [status] = await once(tsc, 'close')
  return status ?? 1
}

/** Builds the packages, or the one that `filter` names. Returns the exit status. */
async function buildPackages(...filter) {
  const turbo = spawn('turbo', ['run', 'build', ...filter, '--output-logs=errors-only', '--no-color'], {
    env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: process.platform === 'win32',
  })
  const [stdout, stderr, [status]] = await Promise.all([text(turbo.stdout), text(turbo.stderr), once(turbo, 'close')])
  if (status === 0) {
    const [tasks, cached] = [/Tasks:\s+(.*)/, /Cached:\s+(.*)/].map((pattern) => pattern.exec(stdout)?.[1])
    console.log(`Built: ${tasks ?? 'all packages'} (${cached ?? ''})`)
  } else {
    process.stderr.write(`${stdout}${stderr}`)
  }
  return status ?? 1
}

// The addons and the WebAssembly modules take most of the time; neither keeps two cores busy alone.
const modules = process.argv.includes('--for-tests')
  ? buildPackages('--filter=@cudnn-rnn/native-wasm')
  : checkTypes().then((status) => (status === 0 ? buildPackages() : status))
const statuses = await Promise.all([buildAddons(), modules])
process.exitCode = statuses.find((status) => status !== 0) ?? 0
