import type { Backend } from '@cudnn-rnn/ops'
import { createRnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { expectAllclose } from './closeness.js'
import { filled, filledCanonical } from './fills.js'
import { readAll } from './small_network.js'

/** A matrix has exact int8 weights if they are multiples of its scale, the largest weight of a column over 127. */
const SCALE = 1 / 1024

// More rows than the integers' sums go over, and no multiple of the four that a step of the loop takes.
const descriptor = createRnnDescriptor({
  ...{ cellMode: 'rnn_relu', numLayers: 1, numUnits: 37, inputSize: 2 * 1024 + 7 },
  ...{ inputMode: 'linear_input', direction: 'unidirectional' },
})

function exactWeights() {
  const canonical = filledCanonical(descriptor, 'float32', 0.1)
  for (const { data, shape } of canonical.weights) {
    const columns = shape[1] as number
    for (let k = 0; k < data.length; k++) {
      data[k] = k % columns === 0 ? 127 * SCALE : Math.round((data[k] as number) / SCALE) * SCALE
    }
  }
  return canonical
}

/**
 * Products that sum int8 weights times the input in integers: their rounding, and rows that are not finite or zero. The
 * weights are float32's exactly, so that only the input is rounded.
 *
 * @param title of the executor and its options.
 * @param open opens the executor with that format of weights and dtype float32.
 * @param inputBits to which a row of the input is rounded, its sign included.
 */
export function registerIntegerProductsConformance(
  title: string,
  open: (weights: 'float32' | 'int8') => Backend | Promise<Backend>,
  { inputBits }: { readonly inputBits: number },
): void {
  describe(`int8 weights in integers on ${title}`, () => {
    async function outputs(weights: 'float32' | 'int8', input: Tensor): Promise<number[]> {
      using backend = await open(weights)
      const rnn = backend.rnn(descriptor)
      const params = rnn.canonicalToParams(exactWeights())
      const pass = { input, inputH: null, inputC: null, params, sequenceLengths: null, training: false }
      return (await readAll(await rnn.forward(pass)))['output']
    }

    // Tiles have up to five rows.
    it.each([1, 2, 3, 4, 5, 7])('%i rows are those of products in float32', async (rows) => {
      const input = filled('x', [2, rows, descriptor.inputSize], 'float32')
      const [integers, floats] = [await outputs('int8', input), await outputs('float32', input)]
      const largest = Math.max(...floats)
      expect(largest).toBeGreaterThan(0.1)
      // The bits of the input's largest element, and sums over a few thousand.
      expectAllclose('output', integers, floats, largest * 2 ** (3 - inputBits))
      expect(integers).not.toEqual(floats)
    })

    it('a row that is not finite gives NaN and does not change the others', async () => {
      const input = filled('x', [1, 2, descriptor.inputSize], 'float32')
      const alone = await outputs('int8', input)
      input.data[descriptor.inputSize + 5] = Number.POSITIVE_INFINITY
      const both = await outputs('int8', input)
      expect(both.slice(0, descriptor.numUnits)).toEqual(alone.slice(0, descriptor.numUnits))
      expect(both.slice(descriptor.numUnits).every(Number.isNaN)).toBe(true)
    })

    it('a row of zeros gives the bias', async () => {
      const data = new Float32Array(descriptor.inputSize)
      const zeros = { data, shape: [1, 1, descriptor.inputSize] }
      expect(await outputs('int8', zeros)).toEqual(await outputs('float32', zeros))
    })
  })
}
