// The executor that the instances of a walk live on: one for all of them, until a call has disposed it.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'

/** Executors of one kind; `problem` if this machine has none. */
export async function openExecutors(api, name) {
  const { make, options, engine, problem } = await MAKERS[name](api)
  if (problem !== undefined) throw new Error(problem)
  let shared
  const isDisposed = () => shared === undefined || shared.toJSON().state === 'disposed'
  if (name === 'cudnn') {
    // Opening a session is slow and asynchronous: the next one is ready before the last is disposed.
    let next = await make()
    return {
      name,
      ...{ options, engine },
      open: () => {
        if (isDisposed()) shared = next
        return shared
      },
      fresh: make,
      tidy: async () => {
        if (isDisposed() || next === shared) next = await make()
      },
    }
  }
  return {
    name,
    open: () => {
      if (isDisposed()) shared = make()
      return shared
    },
    fresh: make,
    tidy: async () => {},
  }
}

const MAKERS = {
  reference: async ({ reference }) => ({ make: () => reference.openReferenceBackend() }),
  cpu: async ({ cpu }) => ({ make: () => cpu.openCpuBackend({ threads: 1 }) }),
  cudnn: async ({ cudnn }) => {
    const { openCudaEmulator } = await import('../../../native/cuda_emulator/cuda_emulator.mjs')
    const { problem, folder } = openCudaEmulator(9)
    if (problem !== undefined) return { problem }
    const options = { libraryDir: folder, cacheDir: mkdtempSync(join(process.cwd(), 'kernels-')) }
    // The variables that torchrun gives the only rank of a job.
    const world = { RANK: 0, LOCAL_RANK: 0, WORLD_SIZE: 1, LOCAL_WORLD_SIZE: 1, TORCHELASTIC_RUN_ID: 'walk' }
    Object.assign(process.env, { ...world, CUDNN_RNN_LIBRARY_DIR: folder, CUDNN_RNN_CUDA_EMULATOR: '1' })
    return { make: () => cudnn.openCudnnBackend(options), options, engine: 'nccl' }
  },
}
