import { collectGarbage } from '@cudnn-rnn/conformance/collect_garbage'
import { describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'
import { smallLstm } from './small_lstm.js'

/** 300 in every test run; `npm run test:soak` does 10,000. */
const CYCLES = Number(process.env['CUDNN_RNN_SOAK_CYCLES'] ?? 300)
/**
 * Cycles after which everything that is made once has been made, and allocators have found their size: some thousand.
 */
const WARM_UP = Math.max(100, CYCLES / 5)
/** Allowance for memory that the allocator caches; a leak of 4 KiB in each of 10,000 cycles is more. */
const MOST_MEGABYTES = 32

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(
  `executors opened and closed repeatedly (${gpu.problem ?? 'CUDA emulator'})`,
  () => {
    if (gpu.problem !== undefined) return
    const { libraries, open } = gpu

    it(`${CYCLES} executors train and close: no handle, no byte is left, and the process stays as large`, {
      timeout: 60_000 + CYCLES * 100,
    }, async () => {
      let before = 0
      for (let cycle = 0; cycle < WARM_UP + CYCLES; cycle++) {
        if (cycle === WARM_UP) {
          await collectGarbage()
          before = process.memoryUsage.rss()
        }
        await using backend = await open({ algorithm: 'standard' })
        const network = smallLstm(backend)
        await network.step()
        network.params.dispose()
        network.rnn.dispose()
      }
      await collectGarbage()
      // Finalizers of tensors that were not disposed run in a later turn of the event loop.
      await new Promise((resolve) => setTimeout(resolve, 100))
      const { live, violations } = libraries.report()
      expect(violations).toEqual([])
      expect(Object.entries(live).filter(([, count]) => count !== 0)).toEqual([])
      expect((process.memoryUsage.rss() - before) / 2 ** 20).toBeLessThan(MOST_MEGABYTES)
    })
  },
)
