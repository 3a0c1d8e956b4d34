// Builds the native addons where that is possible, then every package, quietly: turbo's output is shown only when
// something fails.
//
//   node build.mjs                          modules and declarations
//   node build.mjs --without-declarations   modules alone, which is all that tests load
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const native = spawnSync(process.execPath, [fileURLToPath(new URL('build_native.mjs', import.meta.url))], {
  stdio: 'inherit',
})
if (native.status !== 0) process.exit(native.status ?? 1)

const declarations = process.argv.includes('--without-declarations') ? { CUDNN_RNN_DECLARATIONS: '0' } : {}
const { status, stdout, stderr } = spawnSync('turbo', ['run', 'build', '--output-logs=errors-only', '--no-color'], {
  encoding: 'utf8',
  env: { ...process.env, ...declarations, TURBO_TELEMETRY_DISABLED: '1', TURBO_NO_UPDATE_NOTIFIER: '1' },
  maxBuffer: 64 * 2 ** 20,
  shell: process.platform === 'win32',
})
if (status !== 0) {
  process.stderr.write(`${stdout}${stderr}`)
  process.exit(status ?? 1)
}
console.log(
  `Built: ${/Tasks:\s+(.*)/.exec(stdout)?.[1] ?? 'all packages'} (${/Cached:\s+(.*)/.exec(stdout)?.[1] ?? ''})`,
)
