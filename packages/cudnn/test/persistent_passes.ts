import { type CellMode, createRnnDescriptor, elementCount, numPseudoLayers, outputSize } from '@cudnn-rnn/canonical'
import { decoded, encoded } from '@cudnn-rnn/conformance'
import { requestedExtent } from '@cudnn-rnn/conformance/extent'
import type { Backend, BackendTensor } from '@cudnn-rnn/ops'
import type { Precision } from '../src/device/precision.js'
import type { PersistentShape } from '../src/rnn/persistent_shape.js'

/** The contents of the shared memory of clusters: the kernels of the best division of one of the ways run. */
export type Way = PersistentShape['shared']

/**
 * Parts of the largest number of a result: sums of floats in another order, products of 11 bits of mantissa, and gates and
 * gradients that are rounded to 11 and 8 bits from step to step.
 */
export const TOLERANCES: Readonly<Record<Precision, number>> = {
  ...{ float32: 2e-6, tf32x3: 2e-6, tf32: 2e-3, float16: 2e-3, bfloat16: 1.5e-2 },
}

export const CELL_MODES = ['lstm', 'gru', 'rnn_tanh', 'rnn_relu'] as const
/** The kernels are one template: half of the triples of cell, precision and way hold all pairs. `npm run test:all` runs all. */
export const isChosen = (index: number) => requestedExtent === 'all' || index % 2 === 0

export interface Pass {
  readonly cellMode?: CellMode
  readonly units?: number
  readonly batch?: number
  readonly time?: number
  readonly hasStates?: boolean
  readonly layers?: number
  readonly direction?: 'unidirectional' | 'bidirectional'
  readonly lengths?: readonly number[]
}

export const STACKED: Pass = { layers: 2, direction: 'bidirectional' }

export const largestOf = (values: Float32Array) => values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)

/**
 * The results of a training step and of inference by their names, gradients with a d, `count` times. The operands are numbers
 * of `precision`, so that an executor of another one begins with the same.
 */
export async function resultsOf(backend: Backend, pass: Pass, precision: Precision = 'float32', count = 1) {
  const { cellMode = 'lstm', units = 64, batch = 3, time = 5, hasStates = true, lengths, layers = 1 } = pass
  const { direction = 'unidirectional' } = pass
  const network = createRnnDescriptor({ cellMode, numLayers: layers, direction, numUnits: units, inputSize: 6 })
  const rnn = backend.rnn(network)
  const sequenceLengths = lengths === undefined ? null : Int32Array.from(lengths)
  const tensor = (seed: number, scale: number, ...shape: number[]) => {
    let drawn = seed
    const numbers = Float32Array.from({ length: elementCount(shape) }, () => {
      drawn = (Math.imul(drawn, 1_664_525) + 1_013_904_223) >>> 0
      return scale * (drawn / 2 ** 31 - 1)
    })
    const type = precision === 'tf32' || precision === 'tf32x3' ? 'float32' : precision
    return { data: Float32Array.from(decoded(encoded(numbers, type), type)), shape }
  }
  const state = (seed: number) => tensor(seed, 0.8, numPseudoLayers(network), batch, units)
  const cell = (seed: number) => (cellMode === 'lstm' ? state(seed) : null)
  const states = hasStates ? { inputH: state(2), inputC: cell(3) } : { inputH: null, inputC: null }
  const gradients = hasStates ? { outputH: state(6), ...(cellMode === 'lstm' ? { outputC: state(7) } : {}) } : {}
  const all: Record<string, Float32Array>[] = []
  for (let n = 0; n < count; n++) {
    const params = tensor(4, 1.7 / Math.sqrt(units), rnn.paramsSize)
    const input = tensor(1, 1, time, batch, 6)
    const given = { input, ...states, params, sequenceLengths }
    const { tape, ...outputs } = await rnn.forward({ ...given, training: true })
    const output = tensor(5, 1, time, batch, outputSize(network))
    const backward = await rnn.backward(tape!, { output, ...gradients })
    const inferred = await rnn.forward({ ...given, training: false })
    const results: Record<string, Float32Array> = {}
    const named = (letter: string, all: object) =>
      Object.entries(all).map(([name, one]) => [letter + name, one] as const)
    for (const [name, one] of [...named('', outputs), ...named('d', backward), ...named('inferred ', inferred)]) {
      if (one) results[name] = (await (one as BackendTensor).read()).data as Float32Array
    }
    all.push(results)
  }
  return all
}
