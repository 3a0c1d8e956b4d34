import { createRnnDescriptor, flatLayout, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { inputSide } from '../src/input_side.js'
import { layerParams } from '../src/layer_params.js'

/** The input side of rows [N,in], computed from the flat parameters; `result` holds garbage before. */
function computed(options: Partial<RnnOptions>, flat: readonly number[], input: readonly number[], rows: number) {
  const descriptor = createRnnDescriptor({
    cellMode: 'rnn_tanh',
    numLayers: 1,
    inputMode: 'linear_input',
    ...options,
  } as RnnOptions)
  const layout = flatLayout(descriptor)
  expect(layout.size).toBe(flat.length)
  const [params] = layerParams(descriptor, layout)
  const gates = descriptor.cellMode === 'gru' ? 3 * descriptor.numUnits : descriptor.numUnits
  const result = new Float64Array(rows * gates).fill(99)
  inputSide(descriptor, params, Float64Array.from(flat), Float64Array.from(input), rows, result)()
  return [...result]
}

describe('inputSide', () => {
  it('is W·x + b_W of every row', () => {
    // W = (1 2 3; 4 5 6), R of zeros [2,2], b_W = (10, 20), b_R = (500, 600), which belongs to the recurrent side.
    const flat = [1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 10, 20, 500, 600]
    const options = { numUnits: 2, inputSize: 3 }
    expect(computed(options, flat, [1, 0, 0, 0, 1, -1], 2)).toEqual([11, 24, 9, 19])
  })

  it('is W·x without a bias of the input', () => {
    expect(computed({ numUnits: 1, inputSize: 2, biasMode: 'none' }, [3, 4, 9], [1, 2, 0, 0], 2)).toEqual([11, 0])
    expect(computed({ numUnits: 1, inputSize: 2, biasMode: 'single_recurrent' }, [3, 4, 9, 7], [1, 2], 1)).toEqual([11])
  })

  it('is the input at every gate, plus b_W, where the network skips its input', () => {
    // R [6,2] of zeros, b_W = 1..6, b_R of 100.
    const flat = [...new Array<number>(12).fill(0), 1, 2, 3, 4, 5, 6, ...new Array<number>(6).fill(100)]
    const options = { cellMode: 'gru', numUnits: 2, inputSize: 2, inputMode: 'skip_input' } as const
    expect(computed(options, flat, [10, 20, -10, -20], 2)).toEqual([
      ...[11, 22, 13, 24, 15, 26],
      ...[-9, -18, -7, -16, -5, -14],
    ])
  })

  it('is empty for no rows', () => {
    expect(computed({ numUnits: 1, inputSize: 1 }, [1, 1, 1, 1], [], 0)).toEqual([])
  })
})
