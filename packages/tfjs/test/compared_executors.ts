import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openCpuBackend } from '@cudnn-rnn/cpu'
import { openCudnnBackend } from '@cudnn-rnn/cudnn'
import type { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import type { Backend } from '@cudnn-rnn/ops'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { openWasmBackend } from '@cudnn-rnn/wasm'
import * as tf from '@tensorflow/tfjs'
import { afterAll, beforeAll, expect } from 'vitest'
import { accelerate } from '../src/index.js'
import { computedLayers } from './compared_layers.js'
import { evaluate, expectClose, randomWeights } from './oracle.js'

/** All executors of this machine, opened before the tests of a file and disposed after them. */
export function usesExecutors(emulator: ReturnType<typeof openCudaEmulator>) {
  const backends: Backend[] = []
  const cacheDir = mkdtempSync(join(tmpdir(), 'cudnn-rnn-kernels-'))
  beforeAll(async () => {
    tf.env().set('PROD', true)
    backends.push(openReferenceBackend(), openCpuBackend({ threads: 1 }), await openWasmBackend())
    if (emulator.problem === undefined) {
      backends.push(await openCudnnBackend({ libraryDir: emulator.folder, cacheDir }))
    }
  })
  afterAll(() => {
    for (const backend of backends) backend.dispose()
    rmSync(cacheDir, { recursive: true })
  })

  /** Compares a call with TensorFlow.js's own on every executor. */
  function compare<Layer extends tf.layers.Layer>(
    make: () => Layer,
    call: (layer: Layer) => (...inputs: tf.Tensor[]) => tf.Tensor[],
    inputs: readonly tf.Tensor[],
    executors: readonly Backend[] = backends,
  ): void {
    const layer = make()
    call(layer)(...inputs) // makes the weights
    randomWeights(layer, 1)
    const expected = evaluate(call(layer), inputs, layer)
    for (const backend of executors) {
      using acceleration = accelerate(tf, backend)
      const actual = evaluate(call(layer), inputs, layer)
      expect(acceleration.report()).toMatchObject(
        computedLayers(layer).map(({ name }) => ({ layer: name, computedBy: backend.name, reason: undefined })),
      )
      expectClose(`${backend.name}: output`, actual.outputs, expected.outputs)
      expectClose(`${backend.name}: gradient`, actual.gradients, expected.gradients)
    }
  }

  return { backends, compare }
}
