import { type CudnnBackend, openCudnnBackend } from '@cudnn-rnn/cudnn'
import { loadAddon, openCudaLibraries } from '@cudnn-rnn/cudnn/validation'
import { type CheckContext, type CheckGroup, distance, wave } from '../check.js'
import { judged, nameOf, skipped } from '../outcome.js'

/** A small tensor, and one of several megabytes. */
const SIZES = [3, 2_000_000]
/** Allows for sums in another order. */
const TOLERANCE = 1e-6
const MOST_DEVICES = 8

/**
 * Section 15: NCCL between the GPUs of this process. One GPU is a communicator of one rank; with several, each begins with
 * other values.
 */
export const deviceGroup: CheckGroup = async ({ options, report, once }) => {
  const count = Math.min(deviceCount(options), MOST_DEVICES)
  for (const size of count > 1 ? [1, count] : [1]) {
    const what = `sums and copies between ${size} GPUs of one process`
    await once(what, async () => {
      const numbers = size === 1 ? [options.device ?? 0] : Array.from({ length: size }, (_, device) => device)
      const devices = await Promise.all(
        numbers.map((device) => openCudnnBackend({ ...options, device, algorithm: 'standard' })),
      )
      try {
        const measured = await exchange(devices)
        const holds = measured.sums <= TOLERANCE && measured.copies === 0
        report(judged('15.1', what, `sums within ${TOLERANCE}, equal copies`, measured, holds))
      } catch (error) {
        if (nameOf(error) !== 'ERR_BACKEND_UNAVAILABLE') throw error
        report(skipped('15.1', what, (error as Error).message))
      } finally {
        await Promise.all(devices.map((device) => device.close()))
      }
    })
  }
}

/** The largest errors of the sums and of the copies; all devices make both, twice, with a new communicator each time. */
async function exchange(devices: readonly CudnnBackend[]) {
  let [sums, copies, library] = [0, 0, '']
  for (let round = 0; round < 2; round++) {
    const group = await devices[0].groups.connect(devices, { timeoutSeconds: 30 })
    library = group.reason
    const make = () =>
      devices.map((device, d) =>
        SIZES.map((size) => device.tensor({ data: Float32Array.from(wave(size, 1 + d)), shape: [size] })),
      )
    const [summed, copied] = [make(), make()]
    await Promise.all([group.sum(summed), group.broadcast(copied)])
    const factor = (devices.length * (devices.length + 1)) / 2
    for (const [index, size] of SIZES.entries()) {
      const [total, first] = [wave(size, factor), Float32Array.from(wave(size, 1))]
      for (let d = 0; d < devices.length; d++) {
        sums = Math.max(sums, distance((await summed[d][index].read()).data, total))
        copies = Math.max(copies, distance((await copied[d][index].read()).data, first))
      }
    }
    for (const tensor of [...summed, ...copied].flat()) tensor.dispose()
    await group.close()
  }
  return { library, sums, copies }
}

function deviceCount({ libraryDir }: CheckContext['options']): number {
  const loaded = loadAddon()
  if (loaded.addon === undefined) throw new Error(loaded.attempts.join('; '))
  const { libraries, attempts } = openCudaLibraries(loaded.addon, libraryDir)
  if (libraries === undefined) throw new Error(JSON.stringify(attempts))
  return loaded.addon.deviceCount(libraries).count
}
