import { createRnnDescriptor, type FloatArray } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { openCpuBackend } from '../src/index.js'
import { instructionSetsUnderTest } from './instruction_sets_under_test.js'

const skipped = instructionSetsUnderTest('bound steps').length === 0
const sine = (length: number) => Float32Array.from({ length }, (_, k) => 0.4 * Math.sin(0.7 * k))

/** A stream over parameters of the caller's, which are not a tensor of the executor. */
function openStream(dtype: 'float32' | 'float64', numUnits: number) {
  const backend = openCpuBackend({ threads: 1, dtype })
  const rnn = backend.rnn(createRnnDescriptor({ cellMode: 'lstm', numLayers: 1, numUnits, inputSize: numUnits }))
  const own = (values: Float32Array): FloatArray => (dtype === 'float64' ? Float64Array.from(values) : values)
  const params = { data: own(sine(rnn.paramsSize)), shape: [rnn.paramsSize] }
  const row = (data: FloatArray) => ({ data, shape: [1, numUnits] })
  return { backend, params, row, own, open: () => rnn.stepper(params, 1) }
}

describe.skipIf(skipped)('single steps, whose addresses the kernels keep', () => {
  // 1100 units are too many to be copied: their steps are not bound.
  it.each([
    ['float32', 5],
    ['float64', 5],
    ['float32', 1100],
  ] as const)('equal one call over all of them: %s, %i units', (dtype, units) => {
    const { backend, row, own, open } = openStream(dtype, units)
    const [single, whole] = [open(), open()]
    const frames = own(sine(3 * units))
    const outputs = [0, 1, 2].map((t) => single.stepSync(row(frames.slice(t * units, (t + 1) * units))).data)
    const { data } = whole.stepSync({ data: frames, shape: [3, 1, units] })
    expect([...data]).toEqual(outputs.flatMap((output) => [...output]))
    backend.dispose()
  })

  it('call no method of the caller', () => {
    class Own extends Float32Array {
      override set(): void {
        throw new Error('called')
      }
    }
    const { backend, row, open } = openStream('float32', 5)
    const out = row(new Own(5))
    open().stepSync(row(Own.from(sine(5))), out)
    expect(out.data.every((value) => value !== 0)).toBe(true)
    backend.dispose()
  })

  it('refuse arrays that were transferred between the steps, or by a getter of the caller', () => {
    const { backend, params, row, open } = openStream('float32', 5)
    const stream = open()
    stream.stepSync(row(sine(5)))
    const gone = row(sine(5))
    const transferring = {
      get data() {
        structuredClone(gone.data.buffer, { transfer: [gone.data.buffer as ArrayBuffer] })
        return new Float32Array(5)
      },
      shape: [1, 5],
    }
    expect(() => stream.stepSync(gone, transferring)).toThrow(coded('ERR_TENSOR_TRANSFERRED'))
    structuredClone(params.data.buffer, { transfer: [params.data.buffer as ArrayBuffer] })
    expect(() => stream.stepSync(row(sine(5)))).toThrow(coded('ERR_TENSOR_TRANSFERRED'))
    backend.dispose()
  })
})
