import type { Backend } from '@cudnn-rnn/ops'
import { CELL_MODES, type CellMode, createRnnDescriptor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { expectAllclose } from './closeness.js'
import { filled, filledCanonical } from './fills.js'
import { readAll } from './small_network.js'

/** The format of weights, or of both factors of products. */
type QuantizedFormat = 'bfloat16' | 'int8' | 'bfloat16 products' | 'int8 products'

/** Largest difference of an output from float32's; outputs are within -1…1 except for relu. */
const LARGEST: Readonly<Record<QuantizedFormat, number>> = {
  ...{ bfloat16: 6e-3, int8: 1e-2 },
  // Rows are rounded as the weights are, so that the error of random data grows by √2.
  ...{ 'bfloat16 products': 8.5e-3, 'int8 products': 1.4e-2 },
}
/** A smaller difference would mean that the weights were not quantized. */
const SMALLEST = 1e-6
/** Streams and passes sum in different orders. */
const ROUNDING = 2e-6

const SIZES = { time: 12, batch: 3 }

/**
 * Inference with quantized weights: its error, streams, changed parameters, and training, which is in float32 unless both
 * factors are bfloat16.
 *
 * @param title of the executor and its options.
 * @param open opens the executor with that format of weights and dtype float32.
 * @param formats that the executor has.
 */
export function registerQuantizedWeightsConformance<Format extends QuantizedFormat>(
  title: string,
  open: (weights: 'float32' | Format) => Backend | Promise<Backend>,
  formats: readonly Format[],
): void {
  async function network(cellMode: CellMode, weights: 'float32' | Format) {
    const backend = await open(weights)
    const descriptor = createRnnDescriptor({
      ...{
        cellMode,
        numLayers: 2,
        numUnits: 70,
        inputSize: 33,
        inputMode: 'linear_input',
        direction: 'unidirectional',
      },
      ...(cellMode === 'lstm' && { numProj: 50 }),
    })
    const rnn = backend.rnn(descriptor)
    const params = rnn.canonicalToParams(filledCanonical(descriptor, 'float32', 0.12))
    const input = filled('x', [SIZES.time, SIZES.batch, descriptor.inputSize], 'float32')
    const pass = { input, inputH: null, inputC: null, params, sequenceLengths: null }
    const outputOf = async (training: boolean) => (await readAll(await rnn.forward({ ...pass, training })))['output']
    return { backend, rnn, params, input, outputOf }
  }

  describe.each(formats)(`weights: %s on ${title}`, (weights) => {
    it.each(Object.keys(CELL_MODES) as CellMode[])('%s infers within the bound of float32', async (cellMode) => {
      const [exact, quantized] = [await network(cellMode, 'float32'), await network(cellMode, weights)]
      const [expected, values] = [await exact.outputOf(false), await quantized.outputOf(false)]
      const error = Math.max(...values.map((value, index) => Math.abs(value - expected[index])))
      expect(error).toBeGreaterThan(SMALLEST)
      expect(error).toBeLessThan(LARGEST[weights])
      for (const { backend } of [exact, quantized]) backend.dispose()
    })

    it('steps as it infers, and follows the parameters', async () => {
      const { backend, rnn, params, input, outputOf } = await network('gru', weights)
      if (rnn.stepper === undefined) throw new Error(`${title} has no synchronous steps`)
      const stepper = rnn.stepper(params, SIZES.batch)
      const before = await outputOf(false)
      expectAllclose('output', stepper.stepSync(input).data, before, ROUNDING)
      backend.ops.accumulate(params, params, 0.5)
      stepper.reset()
      const after = await outputOf(false)
      expect(after).not.toEqual(before)
      expectAllclose('output', stepper.stepSync(input).data, after, ROUNDING)
      backend.dispose()
    })

    const trainsRounded = weights === 'bfloat16 products'
    it(`trains in ${trainsRounded ? 'bfloat16' : 'float32'}`, async () => {
      const [exact, quantized] = [
        await network('lstm', trainsRounded ? weights : 'float32'),
        await network('lstm', weights),
      ]
      const expected = await exact.outputOf(!trainsRounded)
      expectAllclose('output', await quantized.outputOf(true), expected, trainsRounded ? ROUNDING : 0)
      for (const { backend } of [exact, quantized]) backend.dispose()
    })
  })
}
