import { createRnnDescriptor, flatLayout, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { runLayerBackward } from '../src/layer_backward.js'
import { createLayerRecord, layerForward } from '../src/layer_forward.js'
import { layerParams } from '../src/layer_params.js'
import { timeOrder } from '../src/time_order.js'

const of = (...values: number[]) => Float64Array.from(values)

interface Case {
  readonly options: Partial<RnnOptions>
  readonly flat: Float64Array
  /** [T,B,I] */
  readonly input: Float64Array
  readonly time: number
  readonly batch: number
  readonly lengths?: readonly number[]
  readonly direction?: 0 | 1
  readonly hidden?: Float64Array
  readonly cell?: Float64Array
}

/** One direction of one layer; `backward` gives the gradients of Σ dy·y + dh·h + dc·c. */
function layer({ options, flat, input, time, batch, lengths, direction = 0, hidden, cell }: Case) {
  const descriptor = createRnnDescriptor({
    numLayers: 1,
    numUnits: 1,
    inputSize: 1,
    inputMode: 'linear_input',
    ...options,
  } as RnnOptions)
  const layout = flatLayout(descriptor)
  expect(layout.size).toBe(flat.length)
  const allocate = (length: number) => new Float64Array(length)
  const columns = descriptor.numProj ?? descriptor.numUnits
  const common = {
    descriptor,
    pseudoLayer: 0,
    params: layerParams(descriptor, layout)[0],
    flat,
    order: timeOrder(direction, time, lengths === undefined ? null : Int32Array.from(lengths)),
    time,
    batch,
    outputColumns: columns,
    outputColumn: 0,
    allocate,
  }
  const record = createLayerRecord(descriptor, time * batch, allocate)
  const states = {
    hidden: hidden?.slice() ?? allocate(batch * columns),
    cell: cell?.slice() ?? allocate(batch * descriptor.numUnits),
  }
  const output = allocate(time * batch * columns)
  layerForward({ ...common, input, output, ...states, record })()
  /** `before`: the value of the gradients of inputs and parameters on entry. */
  const backward = (
    outputGradient: Float64Array,
    dh = allocate(batch * columns),
    dc = allocate(states.cell.length),
    before = 0,
  ) => {
    const gradients = {
      hiddenGradient: dh.slice(),
      cellGradient: dc.slice(),
      inputGradient: allocate(input.length).fill(before),
      flatGradient: allocate(flat.length).fill(before),
    }
    runLayerBackward({ ...common, record, input, outputGradient, ...gradients })
    return gradients
  }
  return { output, ...states, backward }
}

const close = (values: ArrayLike<number>, digits = 13) => Array.from(values, (value) => expect.closeTo(value, digits))

describe('runLayerBackward', () => {
  // h_t = relu(w·x_t + r·h_{t-1} + b_W + b_R), open at every step: linear, so its gradients are sums by hand.
  const [w, r, bW, bR] = [2, 0.5, 0.25, 0.5] as const
  const relu: Case = {
    options: { cellMode: 'rnn_relu' },
    flat: of(w, r, bW, bR),
    input: of(1, 2, 4),
    time: 3,
    batch: 1,
    hidden: of(3),
  }

  it('is the chain of the steps of a linear cell, by hand', () => {
    const run = layer(relu)
    // h = 2·1 + 0.5·3 + 0.75, …
    expect([...run.output]).toEqual([4.25, 6.875, 12.1875])
    // ∂a_3 = 1, ∂a_2 = 10 + r·1, ∂a_1 = 100 + r·∂a_2.
    const [a3, a2, a1] = [1, 10.5, 105.25]
    const { inputGradient, hiddenGradient, flatGradient } = run.backward(of(100, 10, 1))
    expect([...inputGradient]).toEqual([w * a1, w * a2, w * a3])
    expect([...hiddenGradient]).toEqual([r * a1])
    expect([...flatGradient]).toEqual([a1 * 1 + a2 * 2 + a3 * 4, a1 * 3 + a2 * 4.25 + a3 * 6.875, 116.75, 116.75])
  })

  it('begins with the gradient of the final state', () => {
    const { hiddenGradient, flatGradient } = layer(relu).backward(of(0, 0, 0), of(8))
    expect([...hiddenGradient]).toEqual([1])
    expect(flatGradient[2]).toBe(8 + 4 + 2)
  })

  it('adds its share to the gradients of inputs and parameters', () => {
    const alone = layer(relu).backward(of(100, 10, 1))
    const added = layer(relu).backward(of(100, 10, 1), of(0), of(0), 5)
    expect([...added.inputGradient]).toEqual(Array.from(alone.inputGradient, (value) => value + 5))
    expect([...added.flatGradient]).toEqual(Array.from(alone.flatGradient, (value) => value + 5))
    expect(added.hiddenGradient).toEqual(alone.hiddenGradient)
  })

  it('walks the steps of the backward direction from the end of each row', () => {
    const reversed = layer({ ...relu, direction: 1 })
    const forward = layer({ ...relu, input: of(4, 2, 1) })
    expect([...reversed.output].reverse()).toEqual([...forward.output])
    const gradients = [reversed.backward(of(1, 10, 100)), forward.backward(of(100, 10, 1))] as const
    expect([...gradients[0].inputGradient].reverse()).toEqual([...gradients[1].inputGradient])
    expect(gradients[0].flatGradient).toEqual(gradients[1].flatGradient)
    expect(gradients[0].hiddenGradient).toEqual(gradients[1].hiddenGradient)
  })

  it('leaves steps past the length of a row out, and gives the gradient of the state on from there', () => {
    // Rows of 1, 0 and 2 steps; the row without steps passes ∂h as it is.
    const ragged: Case = {
      ...relu,
      time: 2,
      batch: 3,
      input: of(1, 99, 1, 99, 99, 2),
      lengths: [1, 0, 2],
      hidden: of(3, 3, 3),
    }
    const run = layer(ragged)
    expect([...run.output]).toEqual([4.25, 0, 4.25, 0, 0, 6.875])
    expect([...run.hidden]).toEqual([4.25, 3, 6.875])
    const { inputGradient, hiddenGradient, flatGradient } = run.backward(of(1, 77, 1, 77, 77, 1), of(10, 20, 30))
    // Row 0: ∂a_1 = 1 + 10. Row 2: ∂a_2 = 1 + 30, ∂a_1 = 1 + 0.5·31.
    expect([...inputGradient]).toEqual([22, 0, 33, 0, 0, 62])
    expect([...hiddenGradient]).toEqual([5.5, 20, 8.25])
    expect(flatGradient[2]).toBe(11 + 16.5 + 31)
  })

  it('keeps the gradient of a row without a step where a weight is not finite', () => {
    const infinite: Case = {
      ...relu,
      flat: of(w, Number.POSITIVE_INFINITY, bW, bR),
      batch: 2,
      time: 1,
      input: of(1, 1),
      lengths: [1, 0],
      hidden: of(1, 1),
    }
    expect(layer(infinite).backward(of(1, 1), of(0, 5)).hiddenGradient[1]).toBe(5)
  })

  it('passes nothing through a closed relu', () => {
    const run = layer({ ...relu, input: of(1, -100, 4) })
    expect(run.output[1]).toBe(0)
    const { inputGradient, hiddenGradient } = run.backward(of(0, 10, 1))
    expect([...inputGradient, ...hiddenGradient]).toEqual([0, 0, 2, 0])
  })

  it('has the gradient of a projection, beside that of the output gate alone', () => {
    // One LSTM step of two units without input: i = f = o = σ(0) = 1/2, g = tanh(0) = 0, c' = c/2 = (1, 0), and the
    // projection (3, 5) of tanh(c')/2.
    const flat = of(...new Array<number>(16).fill(0), 3, 5, ...new Array<number>(16).fill(0))
    const options = { cellMode: 'lstm', numUnits: 2, numProj: 1 } as const
    const run = layer({ options, flat, input: of(0), time: 1, batch: 1, cell: of(2, 0) })
    const tanh = Math.tanh(1)
    expect(run.output[0]).toBeCloseTo(1.5 * tanh, 14)
    const { flatGradient, cellGradient, hiddenGradient } = run.backward(of(1))
    expect([flatGradient[16], flatGradient[17]]).toEqual([expect.closeTo(tanh / 2, 14), 0])
    // ∂c' = (3·o·(1 - tanh²), 5·o), and f of it reaches c.
    const [first, second] = [1.5 * (1 - tanh * tanh), 2.5]
    expect([...cellGradient]).toEqual(close([first / 2, second / 2]))
    // The recurrent weights are 0.
    expect(hiddenGradient[0]).toBe(0)
    // Biases in the order i, f, g, o: ∂c'·g·i(1-i), ∂c'·c·f(1-f), ∂c'·i, ∂h·tanh(c')·o(1-o).
    expect([...flatGradient.slice(18, 26)]).toEqual(close([0, 0, first / 2, 0, first / 2, second / 2, 0.75 * tanh, 0]))
  })

  it('has separate gradients of both sides of a GRU', () => {
    // r = u = 1/2 and n = tanh(b_Wn + (R_n·h + b_Rn)/2), of h = 1.
    const flat = of(0, 0, 0, 0, 0, 0.5, 0, 0, 0.25, 0, 0, 0.5)
    const run = layer({ options: { cellMode: 'gru' }, flat, input: of(1), time: 1, batch: 1, hidden: of(1) })
    const n = Math.tanh(0.25 + (0.5 + 0.5) / 2)
    expect(run.output[0]).toBeCloseTo(n / 2 + 0.5, 14)
    const { flatGradient, hiddenGradient } = run.backward(of(1))
    const dn = 0.5 * (1 - n * n)
    expect([flatGradient[8], flatGradient[11]]).toEqual(close([dn, dn / 2]))
    // Through u it is (h - n)·u(1-u), through r dn·q·r(1-r), and directly u, and R_n·r·dn.
    expect([flatGradient[7], flatGradient[6]]).toEqual(close([(1 - n) / 4, dn / 4]))
    expect(hiddenGradient[0]).toBeCloseTo(0.5 + 0.5 * 0.5 * dn, 13)
  })

  it('gives the sum of the gates to an input that the network skips', () => {
    const skip: Case = { ...relu, options: { cellMode: 'rnn_relu', inputMode: 'skip_input' }, flat: of(r, bW, bR) }
    const run = layer(skip)
    expect([...run.output]).toEqual([3.25, 4.375, 6.9375])
    const { inputGradient, flatGradient } = run.backward(of(100, 10, 1))
    expect([...inputGradient]).toEqual([105.25, 10.5, 1])
    expect([...flatGradient]).toEqual([105.25 * 3 + 10.5 * 3.25 + 4.375, 116.75, 116.75])
  })
})
