import { CELL_MODES, type CellMode, createRnnDescriptor } from '@cudnn-rnn/canonical'
import { expectAllclose, filled, filledCanonical, readAll } from '@cudnn-rnn/testing'
import { describe, expect, it } from 'vitest'
import { openCpuBackend } from '../src/index.js'
import type { WeightFormat } from '../src/weight_format.js'
import { isasUnderTest } from './isas_under_test.js'

/** Largest difference of an output from float32's; outputs are within -1…1 but for relu. */
const LARGEST: Readonly<Record<string, number>> = { bfloat16: 6e-3, int8: 1e-2 }
/** Less than this would mean that the weights were not narrow at all. */
const SMALLEST = 1e-6

/** Streams and passes sum in different orders. */
const ROUNDING = 2e-6

const SIZES = { time: 12, batch: 3 }

function network(cellMode: CellMode, isa: string, weights: WeightFormat) {
  const backend = openCpuBackend({ isa, weights })
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

for (const isa of isasUnderTest('narrow weights')) {
  describe.each(['bfloat16', 'int8'] as const)(`weights: %s on ${isa}`, (weights) => {
    it.each(Object.keys(CELL_MODES) as CellMode[])('%s infers within the bound of float32', async (cellMode) => {
      const exact = network(cellMode, isa, 'float32')
      const narrow = network(cellMode, isa, weights)
      const [expected, actual] = [exact, narrow].map(({ rnn, pass }) => rnn.forward({ ...pass, training: false }))
      const { output } = await readAll(await expected!)
      const values = (await readAll(await actual!))['output']!
      const error = Math.max(...values.map((value, index) => Math.abs(value - output![index]!)))
      expect(error).toBeGreaterThan(SMALLEST)
      expect(error).toBeLessThan(LARGEST[weights]!)
      for (const { backend } of [exact, narrow]) backend.dispose()
    })

    it('steps as it infers, and follows the parameters', async () => {
      const { backend, rnn, params, input, pass } = network('gru', isa, weights)
      const stepper = rnn.stepper(params, SIZES.batch)
      const infer = async () => (await readAll(await rnn.forward({ ...pass, training: false })))['output']!
      const before = await infer()
      expectAllclose('output', stepper.stepSync(input).data, before, ROUNDING)
      backend.ops.accumulate(params, params, 0.5)
      stepper.reset()
      const after = await infer()
      expect(after).not.toEqual(before)
      expectAllclose('output', stepper.stepSync(input).data, after, ROUNDING)
      backend.dispose()
    })

    it('trains in float32', async () => {
      const results = await Promise.all(
        (['float32', weights] as const).map(async (format) => {
          const { backend, rnn, pass } = network('lstm', isa, format)
          const result = await readAll(await rnn.forward({ ...pass, training: true }))
          backend.dispose()
          return result['output']
        }),
      )
      expect(results[1]).toEqual(results[0])
    })
  })
}

it('weights other than float32 are refused with dtype float64', () => {
  expect(() => openCpuBackend({ dtype: 'float64', weights: 'int8' })).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
  )
})
