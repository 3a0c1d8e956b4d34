import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CudnnError } from '../src/index.js'
import { openEmulatedGpu } from './emulated_gpu.js'
import { smallLstm } from './small_lstm.js'

const gpu = openEmulatedGpu()
/** No operation of the device ends until a test lowers the setting. */
const HELD_MICROSECONDS = 30e6
const NOTHING = { tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 }

describe.skipIf(gpu.problem !== undefined)(
  `failures under the cuDNN executor (${gpu.problem ?? 'CUDA emulator'})`,
  () => {
    if (gpu.problem !== undefined) return
    const { libraries, open } = gpu
    beforeEach(() => libraries.configure('reset'))
    afterEach(() => {
      expect(libraries.report().violations).toEqual([])
      libraries.configure('reset')
    })

    /** Opens, fails once, works again, disposes; no object may be alive on the emulator afterwards. */
    const survives = async (fault: string, code: string, fields: object = {}) => {
      const backend = await open({ algorithm: 'standard' })
      const network = smallLstm(backend)
      await network.step()
      await network.params.read()
      libraries.configure(fault)
      const error = await network
        .step()
        .then(() => network.params.read())
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code, ...fields })
      libraries.configure('reset')
      const after = smallLstm(backend)
      await after.step()
      expect((await after.params.read()).data.every(Number.isFinite)).toBe(true)
      network.params.dispose()
      network.rnn.dispose()
      after.params.dispose()
      after.rnn.dispose()
      await backend.close()
      return error
    }

    it.each([
      ['cudnnRNNForward=3000@1', 'ERR_CUDNN_NOT_SUPPORTED', 'CUDNN_STATUS_NOT_SUPPORTED'],
      ['cudnnRNNForward=2000@1', 'ERR_CUDNN_BAD_PARAM', 'CUDNN_STATUS_BAD_PARAM'],
      ['cudnnRNNForward=5000@1', 'ERR_CUDNN', 'CUDNN_STATUS_EXECUTION_FAILED'],
      ['cudnnRNNBackwardData_v8=5000@1', 'ERR_CUDNN', 'CUDNN_STATUS_EXECUTION_FAILED'],
      ['cudnnRNNBackwardWeights_v8=3000@1', 'ERR_CUDNN_NOT_SUPPORTED', 'CUDNN_STATUS_NOT_SUPPORTED'],
      ['cudaMemcpyAsync=1@1', 'ERR_CUDA', 'cudaErrorInvalidValue'],
      ['cudaMemsetAsync=1@1', 'ERR_CUDA', 'cudaErrorInvalidValue'],
      ['cuLaunchKernel=1@1', 'ERR_CUDA', 'CUDA_ERROR_INVALID_VALUE'],
    ])('%s gives %s and leaves the next step working', async (fault, code, statusName) => {
      const error = await survives(`fault.${fault}`, code, { statusName })
      expect(error instanceof CudnnError).toBe(true)
    })

    it('running out of memory reports the requested and the free bytes, and leaves other tensors intact', async () => {
      await using backend = await open({ algorithm: 'standard' })
      const network = smallLstm(backend)
      await network.step()
      const before = (await network.params.read()).data
      libraries.configure('memory=256M')
      const error = await backend
        .zeros([128 << 20])
        .read()
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({ code: 'ERR_OUT_OF_DEVICE_MEMORY', requestedBytes: 512 << 20 })
      expect((error as { freeBytes: number }).freeBytes).toBeLessThanOrEqual(256 << 20)
      expect((await network.params.read()).data).toEqual(before)
      await network.step()
      expect((await network.params.read()).data.every(Number.isFinite)).toBe(true)
    })

    it('work that reads the outputs of failed work fails with the same error', async () => {
      await using backend = await open({ algorithm: 'standard' })
      libraries.configure('fault.cudaMemsetAsync=1@1')
      const zeros = backend.zeros([4])
      const sum = backend.zeros([4])
      backend.ops.accumulate(sum, zeros)
      for (const tensor of [zeros, sum]) await expect(tensor.read()).rejects.toMatchObject({ code: 'ERR_CUDA' })
      backend.ops.assign(sum, { data: new Float32Array(4).fill(2), shape: [4] })
      expect([...(await sum.read()).data]).toEqual([2, 2, 2, 2])
    })

    it('an illegal address loses the device: every later call reports that', async () => {
      const backend = await open({ algorithm: 'standard' })
      const network = smallLstm(backend)
      await network.step()
      libraries.configure('sticky=1')
      await expect(network.step().then(() => network.params.read())).rejects.toMatchObject({ code: 'ERR_DEVICE_LOST' })
      await expect(backend.zeros([2]).read()).rejects.toMatchObject({ code: 'ERR_DEVICE_LOST' })
      await backend.close()
      libraries.configure('reset')
      await using again = await open()
      expect([...(await again.zeros([2]).read()).data]).toEqual([0, 0])
    })

    it('a slow device blocks nothing: timers fire while a step is under way', async () => {
      await using backend = await open({ algorithm: 'standard' })
      const network = smallLstm(backend)
      await network.step()
      libraries.configure(`slow=${HELD_MICROSECONDS}`)
      let isDone = false
      const work = network
        .step()
        .then(() => network.params.read())
        .then(() => {
          isDone = true
        })
      for (let tick = 0; tick < 3; tick++) await new Promise((resolve) => setTimeout(resolve, 1))
      expect(isDone).toBe(false)
      libraries.configure('slow=0')
      await work
    })

    it('an algorithm that fails in the backward is never chosen', async () => {
      await using backend = await open()
      // The trials of the standard algorithm come first: two warm-up passes and five timed ones.
      libraries.configure('fault.cudnnRNNBackwardWeights_v8=3000@8+')
      const network = smallLstm(backend)
      const { tape, output } = await network.forward()
      libraries.configure('reset')
      await network.rnn.backward(tape!, { output })
    })

    it('disposing during work rejects the calls that have not begun and frees everything', async () => {
      const backend = await open({ algorithm: 'standard' })
      const network = smallLstm(backend)
      await network.step()
      libraries.configure('slow=5000')
      const reads = Array.from({ length: 4 }, () => network.params.read())
      backend.dispose()
      const results = await Promise.allSettled(reads)
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'ERR_BACKEND_DISPOSED' })
      }
      expect(() => backend.zeros([1])).toThrow(coded('ERR_BACKEND_DISPOSED'))
      await backend.close()
    })

    it('dispose returns while the device is at work; the next executor finds its memory free', async () => {
      const backend = await open({ algorithm: 'standard' })
      const held = backend.zeros([1 << 20])
      await held.read()
      const before = libraries.report().live['device bytes']
      expect(before).toBeGreaterThan(4 << 20)
      libraries.configure(`slow=${HELD_MICROSECONDS}`)
      const read = backend.zeros([1]).read()
      backend.dispose()
      expect(libraries.report().live['device bytes']).toBeGreaterThanOrEqual(before)
      // The worker may have begun the read, which then ends with the device.
      const ended = read.catch((error: unknown) => error)
      // Room for what one executor holds, not for two.
      libraries.configure(`slow=0; memory=${before + (1 << 20)}`)
      await using again = await open({ algorithm: 'standard' })
      await again.zeros([1 << 20]).read()
      const outcome = await ended
      if (outcome instanceof Error) expect(outcome).toMatchObject({ code: 'ERR_BACKEND_DISPOSED' })
    })

    /** Live objects without an open executor; a lost device's are never freed. */
    const liveAfterOne = async () => {
      const backend = await open({ algorithm: 'standard' })
      const network = smallLstm(backend)
      await network.step()
      network.rnn.dispose()
      await backend.close()
      return libraries.report().live
    }

    it('a hundred executors are opened and closed without leaks', async () => {
      const before = await liveAfterOne()
      for (let round = 0; round < 100; round++) {
        const backend = await open({ algorithm: 'standard' })
        const network = smallLstm(backend)
        if (round % 10 === 0) await network.step()
        network.rnn.dispose()
        await backend.close()
      }
      // The garbage collector may have found something of an earlier test meanwhile.
      for (const [what, count] of Object.entries(libraries.report().live)) {
        expect(count, what).toBeLessThanOrEqual(before[what])
      }
    })

    it('ten thousand tensors are made and freed, and the live bytes of the device do not grow', async () => {
      await using backend = await open({ algorithm: 'standard' })
      // Disposed at the end of the test: the garbage collector may free an unreferenced tensor at any time.
      using first = backend.zeros([1])
      await first.read()
      const before = libraries.report().live['device bytes']
      for (let round = 0; round < 10_000; round++) backend.zeros([16]).dispose()
      using last = backend.zeros([1])
      await last.read()
      expect(backend.stats().tensors).toBe(2)
      expect(libraries.report().live['device bytes']).toBeLessThanOrEqual(before + 2048)
    })

    it('counts its tensors, tapes and networks back to nothing', async () => {
      await using backend = await open()
      const network = smallLstm(backend)
      await network.step()
      network.params.dispose()
      network.rnn.dispose()
      expect(backend.stats()).toEqual(NOTHING)
    })
  },
)
