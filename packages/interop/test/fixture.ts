import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { CanonicalParams, RnnDescriptor, Tensor } from '@cudnn-rnn/canonical'
import { CudnnGRU, CudnnLSTM, CudnnRNNRelu, CudnnRNNTanh } from '@cudnn-rnn/models'
import { openReferenceBackend } from '@cudnn-rnn/reference'
import { expect } from 'vitest'

/** Numbers of a framework, as the scripts in fixtures/interop write them. */
export interface Numbers {
  readonly shape: readonly number[]
  readonly data: readonly number[]
}

/** float32 frameworks against float64 arithmetic with their float32 weights. */
export const FLOAT32_TOLERANCE = 1e-6

export function fixturePath(path: string): string {
  return fileURLToPath(new URL(`../../../fixtures/interop/${path}`, import.meta.url))
}

export function fixtureBytes(path: string): Uint8Array {
  return new Uint8Array(readFileSync(fixturePath(path)))
}

export function fixtureJson<Content>(path: string): Content {
  return JSON.parse(readFileSync(fixturePath(path), 'utf8')) as Content
}

/** Results of a network for `input` [T,B,I] from zero or given states, in float64. */
export async function compute(
  network: { readonly descriptor: RnnDescriptor; readonly canonical: CanonicalParams },
  input: Numbers,
  states: { readonly h?: Tensor; readonly c?: Tensor; readonly sequenceLengths?: readonly number[] } = {},
): Promise<{ readonly output: Tensor; readonly h: Tensor; readonly c?: Tensor }> {
  const { cellMode, inputMode, direction, numLayers, numUnits, inputSize, numProj, cellClip } = network.descriptor
  using backend = openReferenceBackend({ dtype: 'float64' })
  const options = { inputMode, direction, numLayers, numUnits, inputSize }
  const doubled = ({ data, shape }: Tensor) => ({ data: Float64Array.from(data), shape })
  const { weights, biases } = network.canonical
  const x = { data: Float64Array.from(input.data), shape: input.shape }
  const h = states.h === undefined ? null : doubled(states.h)
  const call = { isTraining: false, sequenceLengths: states.sequenceLengths } as const
  if (cellMode === 'lstm') {
    using model = new CudnnLSTM(backend, { ...options, numProj, cellClip })
    const params = await model.canonicalToParams(weights.map(doubled), biases.map(doubled))
    const c = states.c === undefined ? null : doubled(states.c)
    const { output, outputH, outputC } = await model.call(x, h, c, params, call)
    return { output: await output.read(), h: await outputH.read(), c: await outputC.read() }
  }
  const Model = { gru: CudnnGRU, rnn_relu: CudnnRNNRelu, rnn_tanh: CudnnRNNTanh }[cellMode]
  using model = new Model(backend, options)
  const params = await model.canonicalToParams(weights.map(doubled), biases.map(doubled))
  const { output, outputH } = await model.call(x, h, params, call)
  return { output: await output.read(), h: await outputH.read() }
}

/** Fails unless shapes are equal and every element is within `tolerance`. */
export function expectClose(actual: Tensor, expected: Numbers, tolerance = FLOAT32_TOLERANCE): void {
  expect([...actual.shape]).toEqual([...expected.shape])
  const worst = Math.max(...expected.data.map((value, index) => Math.abs(value - actual.data[index]!)))
  expect(worst).toBeLessThanOrEqual(tolerance)
}
