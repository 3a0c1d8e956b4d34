import { CELL_MODES, type CellMode, createRnnDescriptor } from '@cudnn-rnn/canonical'
import { expectAllclose, filled, filledCanonical, readAll } from '@cudnn-rnn/conformance'
import { describe, expect, it } from 'vitest'
import { openWasmBackend, type WeightFormat } from '../src/index.js'

/** Largest difference of an output from float32's, as on the cpu executor; outputs are within -1…1 but for relu. */
const LARGEST = { bfloat16: 6e-3, int8: 1e-2 }
/** Less than this would mean that the weights were not quantized at all. */
const SMALLEST = 1e-6
/** Streams and passes sum in different orders. */
const ROUNDING = 2e-6

const SIZES = { time: 12, batch: 3 }

async function network(cellMode: CellMode, weights: WeightFormat) {
  const backend = await openWasmBackend({ weights })
  const descriptor = createRnnDescriptor({
    ...{ cellMode, numLayers: 2, numUnits: 70, inputSize: 33, inputMode: 'linear_input', direction: 'unidirectional' },
    ...(cellMode === 'lstm' && { numProj: 50 }),
  })
  const rnn = backend.rnn(descriptor)
  const params = rnn.canonicalToParams(filledCanonical(descriptor, 'float32', 0.12))
  const input = filled('x', [SIZES.time, SIZES.batch, descriptor.inputSize], 'float32')
  const pass = { input, inputH: null, inputC: null, params, sequenceLengths: null }
  return { backend, rnn, params, input, pass }
}

describe.each(['bfloat16', 'int8'] as const)('weights: %s', (weights) => {
  it.each(Object.keys(CELL_MODES) as CellMode[])('%s infers within the bound of float32', async (cellMode) => {
    const [exact, quantized] = [await network(cellMode, 'float32'), await network(cellMode, weights)]
    const { output } = await readAll(await exact.rnn.forward({ ...exact.pass, training: false }))
    const values = (await readAll(await quantized.rnn.forward({ ...quantized.pass, training: false })))['output']
    const error = Math.max(...values.map((value, index) => Math.abs(value - output[index])))
    expect(error).toBeGreaterThan(SMALLEST)
    expect(error).toBeLessThan(LARGEST[weights])
    for (const { backend } of [exact, quantized]) backend.dispose()
  })

  it('steps as it infers, and follows the parameters', async () => {
    const { backend, rnn, params, input, pass } = await network('gru', weights)
    const stepper = rnn.stepper(params, SIZES.batch)
    const infer = async () => (await readAll(await rnn.forward({ ...pass, training: false })))['output']
    const before = await infer()
    expectAllclose('output', stepper.stepSync(input).data, before, ROUNDING)
    backend.ops.accumulate(params, params, 0.5)
    stepper.reset()
    const after = await infer()
    expect(after).not.toEqual(before)
    expectAllclose('output', stepper.stepSync(input).data, after, ROUNDING)
    backend.dispose()
  })
})
