import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh, type RecurrentModel, type Variable } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { onTestFinished } from 'vitest'

export const MODELS = { CudnnLSTM, CudnnGRU, CudnnRNNRelu, CudnnRNNTanh }

export interface Case {
  readonly model: keyof typeof MODELS
  readonly numLayers?: number
  readonly numUnits?: number
  readonly inputSize?: number
  readonly direction?: 'bidirectional'
  readonly numProj?: number
}

/** A model and its variable, both biases random, so that their sum does not determine them. */
export function build({ model, ...options }: Case, seed = 1): { model: RecurrentModel; params: Variable } {
  const backend = openReferenceBackend()
  const sizes = { numLayers: 2, numUnits: 7, inputSize: 3, inputMode: 'linear_input', ...options } as const
  const built: RecurrentModel = new MODELS[model](backend, sizes)
  const biasInitializer = (
    values: { length: number; [index: number]: number },
    _: unknown,
    random: { uniform(): number },
  ) => {
    for (let index = 0; index < values.length; index++) values[index] = random.uniform()
  }
  return { model: built, params: built.createParams({ seed, biasInitializer: biasInitializer as never }) }
}

export async function valuesOf({ value }: Variable): Promise<number[]> {
  return Array.from((await value.read()).data)
}

/** A prefix in a separate directory, which is removed when the test ends. */
export async function temporaryPrefix(name = 'model'): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'saver-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return join(directory, name)
}
