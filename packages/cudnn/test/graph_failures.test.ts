import { describe, expect, it } from 'vitest'
import { openEmulatedGpu } from './emulated_gpu.js'
import { usesSteps } from './emulated_steps.js'
import { smallCharModel } from './small_char_model.js'

const gpu = openEmulatedGpu()

describe.skipIf(gpu.problem !== undefined)(
  `graphs of steps that fail or end (${gpu.problem ?? 'CUDA emulator'})`,
  () => {
    if (gpu.problem !== undefined) return
    const { libraries, open, launches, graphs, train } = usesSteps(gpu)

    let undisturbed: Promise<number[][]> | undefined
    /** Ten steps as calls, with nothing in between. */
    const calls = () => {
      undisturbed ??= train(false, () => {})
      return undisturbed
    }

    it.each(['cudaStreamBeginCapture', 'cudaStreamEndCapture', 'cudaGraphInstantiateWithFlags'])(
      'a step whose %s fails once runs as calls and is captured later, to the same numbers',
      async (symbol) => {
        const expected = await calls()
        const found = await train(true, (_, step) => step === 1 && libraries.configure(`fault.${symbol}=900@1`))
        expect(found).toEqual(expected)
        expect(launches()).toBeGreaterThan(3)
        // One more than without the failure: of the trial of dropout, the one that failed, and the one that replaced
        // it.
        expect(libraries.report().calls['cudaStreamBeginCapture']).toBe(3)
        libraries.configure('reset')
      },
    )

    it.each([
      ['the launch after a capture', 'fault.cudaGraphLaunch=1@1', 'ERR_CUDA'],
      ['room for the results of a capture', 'fault.cudaMallocAsync=2@3+', 'ERR_OUT_OF_DEVICE_MEMORY'],
    ])('%s that fails fails the step, and no variable', async (_, fault, code) => {
      await using backend = await open({ algorithm: 'standard', graphs: true })
      const model = smallCharModel(backend)
      for (let step = 0; step < 3; step++) await model.step()
      const before = await model.outcome()
      libraries.configure(fault)
      await expect(model.step()).rejects.toMatchObject({ code })
      libraries.configure('reset')
      expect(await model.outcome()).toEqual(before)
      for (let step = 0; step < 3; step++) await model.step()
      expect(await model.outcome()).not.toEqual(before)
    })

    it('a launch that fails changes nothing, is reported, and not tried again', async () => {
      await using backend = await open({ algorithm: 'standard', graphs: true })
      const model = smallCharModel(backend)
      for (let step = 0; step < 6; step++) await model.step()
      const before = await model.outcome()
      libraries.configure('fault.cudaGraphLaunch=1@1')
      await expect(model.step()).rejects.toMatchObject({ code: 'ERR_CUDA', call: 'cudaGraphLaunch' })
      expect(await model.outcome()).toEqual(before)
      const count = launches()
      await model.step()
      await model.step()
      expect(launches()).toBe(count)
      expect(await model.outcome()).not.toEqual(before)
    })

    it.each([
      ['a call of cuDNN', 'fault.cudnnRNNForward=5000@1', 'ERR_CUDNN'],
      ['a call of cuBLAS', 'fault.cublasGemmEx=13@2', 'ERR_CUBLAS'],
      ['memory', 'fault.cudaMallocAsync=2@9+', 'ERR_OUT_OF_DEVICE_MEMORY'],
    ])('%s that fails in a step that is issued as calls fails the step, and no variable', async (_, fault, code) => {
      await using backend = await open({ algorithm: 'standard', graphs: true })
      const model = smallCharModel(backend)
      // The second step has the form of those that follow.
      for (let step = 0; step < 2; step++) await model.step()
      const before = await model.outcome()
      libraries.configure(fault)
      await expect(model.step()).rejects.toMatchObject({ code })
      libraries.configure('reset')
      expect(await model.outcome()).toEqual(before)
      for (let step = 0; step < 4; step++) await model.step()
      expect(await model.outcome()).not.toEqual(before)
      expect(launches()).toBeGreaterThan(0)
    })

    it('graphs go with the tensors they use, and the oldest where forms are many', async () => {
      await using backend = await open({ algorithm: 'standard', graphs: true })
      const model = smallCharModel(backend)
      for (let step = 0; step < 6; step++) await model.step()
      expect(graphs()).toBe(1)
      model.dispose()
      await backend.zeros([1]).read()
      expect(graphs()).toBe(0)
      // Held: the graph of a tensor that is collected is released too.
      const tensors = Array.from({ length: 70 }, (_, k) => backend.zeros([k + 1]))
      for (const tensor of tensors) {
        for (let step = 0; step < 4; step++) await backend.steps.run(async () => backend.ops.accumulate(tensor, tensor))
      }
      expect(graphs()).toBe(64)
      for (const tensor of tensors) tensor.dispose()
    })

    it('a backend that is disposed in the middle of a step refuses the rest of it', async () => {
      const backend = await open({ algorithm: 'standard', graphs: true })
      const model = smallCharModel(backend)
      for (let step = 0; step < 2; step++) await model.step()
      // Once while it is captured, and once while calls are recorded.
      const step = model.step()
      const closed = backend.close()
      await expect(step).rejects.toMatchObject({ code: 'ERR_BACKEND_DISPOSED' })
      await expect(model.step()).rejects.toMatchObject({ code: 'ERR_BACKEND_DISPOSED' })
      await closed
    })

    it('memory that runs out in a capture leaves the step to calls', async () => {
      const expected = await calls()
      const found = await train(true, (_, step) => {
        if (step !== 3) return
        const used = libraries.report().live['device bytes']
        libraries.configure(`memory=${used + 100_000}`)
      })
      expect(found).toEqual(expected)
      libraries.configure('reset')
    })

    it('a graph that is slower than its calls is given up', async () => {
      await using backend = await open({ algorithm: 'standard', graphs: 'measured' })
      const model = smallCharModel(backend)
      libraries.configure('counted_time=1')
      for (let step = 0; step < 4; step++) await model.step()
      expect(graphs()).toBe(1)
      libraries.configure('slow=8000')
      for (let step = 0; step < 3; step++) await model.step()
      expect(graphs()).toBe(0)
    })

    it('a graph that is faster than its calls is kept', async () => {
      await using backend = await open({ algorithm: 'standard', graphs: 'measured' })
      const model = smallCharModel(backend)
      libraries.configure('counted_time=1; slow=500')
      for (let step = 0; step < 3; step++) await model.step()
      libraries.configure('slow=0')
      for (let step = 0; step < 5; step++) await model.step()
      expect(graphs()).toBe(1)
    })
  },
)
