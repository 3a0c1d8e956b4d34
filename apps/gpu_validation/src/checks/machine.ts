import { spawnSync } from 'node:child_process'
import { release } from 'node:os'
import { type CudnnBackendOptions, openCudnnBackend } from '@cudnn-rnn/cudnn'
import { inspectCudnn, loadAddon } from '@cudnn-rnn/cudnn/validation'
import type { CheckGroup } from '../check.js'
import { judged, nameOf, noted, skipped } from '../outcome.js'

/** Section 1 and 2: the machine, its libraries, and how long opening takes. */
export const machine: CheckGroup = async ({ options, report }) => {
  for (const [what, lines, command, args] of [
    ['C library', 1, 'ldd', ['--version']],
    [
      'GPUs: driver, clocks, power',
      8,
      'nvidia-smi',
      ['--query-gpu=name,driver_version,clocks.max.sm,clocks.max.mem,power.limit', '--format=csv,noheader'],
    ],
  ] as const) {
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
    if (status === 0) report(noted('1.1', what, stdout.trim().split('\n').slice(0, lines)))
    else report(skipped('1.1', what, `${command} did not run${stderr ? `: ${stderr.split('\n')[0]}` : ''}`))
  }
  report(noted('1.2', 'Node.js and kernel', `${process.version} on ${release()}`))
  // Only what loading itself needs: no variable that could point at CUDA.
  const env = { CUDNN_RNN_CUDNN_ADDON: process.env['CUDNN_RNN_CUDNN_ADDON'] ?? '' }
  const script = 'process.stdout.write(Object.keys(require(process.env.CUDNN_RNN_CUDNN_ADDON)).length + "")'
  const alone = spawnSync(process.execPath, ['-e', script], { env, encoding: 'utf8' })
  const loads = alone.status === 0 && Number(alone.stdout) > 10
  report(judged('1.3', 'the addon without any environment', 'loads', loads ? 'loads' : alone.stderr, loads))
  const loaded = loadAddon()
  report(noted('1.4', 'the addon', 'file' in loaded ? loaded.file : loaded.attempts))
  // The first of the process and, here, of the whole run: contexts, modules and kernels are made.
  const first = await opened(options).catch(nameOf)
  report(noted('2.1', 'opening and closing an executor, the first of the process (ms)', first))
  const { files, cudnn, device, features, attempts, advice } = await inspectCudnn(options)
  report(noted('1.5', 'libraries', files))
  report(noted('1.6', 'cuDNN', cudnn))
  report(noted('1.7', 'the device', device))
  report(noted('1.8', 'features', features))
  if (device === undefined) {
    return report(judged('1.9', 'a GPU that can be used', 'one', { advice, attempts }, false))
  }
  for (const state of ['second', 'third'] as const) {
    report(noted('2.1', `opening and closing an executor, the ${state} of the process (ms)`, await opened(options)))
  }
  report(noted('2.2', 'bytes of a dropout state', device.dropoutStatesBytes))
  report(noted('2.3', 'multiprocessors', device.multiProcessors))
}

async function opened(options: CudnnBackendOptions): Promise<{ open: number; close: number }> {
  const began = performance.now()
  const backend = await openCudnnBackend(options)
  const open = performance.now() - began
  await backend.close()
  return { open, close: performance.now() - began - open }
}
