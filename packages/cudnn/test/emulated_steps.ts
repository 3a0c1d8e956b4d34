import { afterEach, beforeEach, expect } from 'vitest'
import type { openEmulatedGpu } from './emulated_gpu.js'
import { type CharModelOptions, smallCharModel } from './small_char_model.js'

export type Model = ReturnType<typeof smallCharModel>

/** Ten steps of training on the emulator, which leave nothing on its device after each test. */
export function usesSteps(gpu: Extract<ReturnType<typeof openEmulatedGpu>, { problem: undefined }>) {
  const { libraries, open } = gpu
  beforeEach(() => libraries.configure('reset'))
  afterEach(() => {
    expect(libraries.report().violations).toEqual([])
    // Every executor is closed by now.
    expect(libraries.report().live['device bytes'] ?? 0).toBe(0)
  })

  const launches = () => libraries.report().calls['cudaGraphLaunch'] ?? 0
  const graphs = () => libraries.report().live['graph execs'] ?? 0

  const train = async (use: boolean, between: (model: Model, step: number) => unknown, options?: CharModelOptions) => {
    await using backend = await open({ algorithm: 'standard', graphs: use })
    const model = smallCharModel(backend, { dropout: 0.3, ...options })
    for (let step = 0; step < 10; step++) {
      await between(model, step)
      await model.step()
    }
    return await model.outcome()
  }

  return { libraries, open, launches, graphs, train }
}
