// `npm run test:gpu -- [OUTDIR] [--quick] [--python PYTHON] [--limit SECONDS] [--only NAME,NAME] [--jobs N]` validates the cuDNN
// executor on the GPU of this machine and writes the results to OUTDIR (default .gpu/results). `npm run pack:gpu` packs the
// same validation into one folder, .gpu/pack, which runs on a GPU host without Node.js and network: ./run.sh OUTDIR, with
// the same options. `npm run report:gpu -- OUTDIR` writes docs/gpu/<date>_<gpu>.md from results of any machine.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleGpuValidation } from './bundle_gpu_validation.mjs'
import ownTemporaryFolder from '../temporary_folder.mjs'

ownTemporaryFolder()

const root = fileURLToPath(new URL('../..', import.meta.url))
const isPack = process.argv.includes('--pack')
const isReport = process.argv.includes('--for-docs')
const folder = join(root, '.gpu', isPack ? 'pack' : 'test')

const { status } = spawnSync(process.execPath, [join(root, 'scripts/build/build_native.mjs'), 'cudnn'], {
  stdio: 'inherit',
})
const prebuilds = join(root, 'native/cudnn/prebuilds')
const [platform] = status === 0 && existsSync(prebuilds) ? readdirSync(prebuilds) : []
if (platform === undefined)
  throw new Error('Cannot validate as the cuDNN addon is not built: a C++ compiler and CMake are needed')

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
await bundleGpuValidation(folder)
copyFileSync(join(prebuilds, platform, 'cudnn_rnn_cudnn.node'), join(folder, 'cudnn_rnn_cudnn.node'))

if (isPack) {
  copyFileSync(process.execPath, join(folder, 'node'))
  // Symbols are a fifth of the binary and of no use here; without strip it is only larger.
  spawnSync('strip', [join(folder, 'node')], { stdio: 'ignore' })
  writeFileSync(
    join(folder, 'run.sh'),
    `#!/bin/sh
# Validates cudnn-rnn on this machine's GPU: ./run.sh OUTDIR [--quick] [--python PYTHON] [--limit SECONDS]
here=$(cd "$(dirname "$0")" && pwd)
export CUDNN_RNN_CUDNN_ADDON="$here/cudnn_rnn_cudnn.node"
exec "$here/node" "$here/gpu_validation.mjs" "$@"
`,
  )
  chmodSync(join(folder, 'run.sh'), 0o755)
  const archive = `${folder}.tar.gz`
  const packed = spawnSync('tar', ['-czf', archive, '-C', join(root, '.gpu'), 'pack'], { stdio: 'inherit' })
  if (packed.status !== 0) throw new Error('Cannot pack the validation as tar failed')
  console.log(`Packed: ${archive}, ${(statSync(archive).size / 2 ** 20).toFixed(1)} MiB`)
} else {
  const given = process.argv.slice(2).filter((argument) => argument !== '--for-docs')
  if (isReport) given.push('--report', join(root, 'docs/gpu'))
  const args = given[0]?.startsWith('--') === false ? given : [join(root, '.gpu/results'), ...given]
  const validation = spawnSync(process.execPath, [join(folder, 'gpu_validation.mjs'), ...args], {
    stdio: 'inherit',
    env: { ...process.env, CUDNN_RNN_CUDNN_ADDON: join(folder, 'cudnn_rnn_cudnn.node') },
  })
  process.exitCode = validation.status ?? 1
}
