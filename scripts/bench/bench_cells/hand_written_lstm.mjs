import { RNNCell } from '../../../packages/cells/dist/index.js'

const sigmoid = (x) => 1 / (1 + Math.exp(-x))
const matrix = (data, columns) => ({ data, offset: 0, rowStride: columns, columnStride: 1 })
const transposed = (data, columns) => ({ data, offset: 0, rowStride: 1, columnStride: columns })

/** An LSTM as a user of the package would write it: a step in JavaScript, with the executor's products and loops over elements. */
export class HandWrittenLSTM extends RNNCell {
  constructor(numUnits) {
    super('hand_written_lstm')
    this.numUnits = numUnits
  }

  get stateSize() {
    return { c: this.numUnits, h: this.numUnits }
  }

  get outputSize() {
    return this.numUnits
  }

  variableSpecs(inputSize) {
    return [
      { name: 'kernel', shape: [inputSize + this.numUnits, 4 * this.numUnits], initializer: 'glorot_uniform' },
      { name: 'bias', shape: [4 * this.numUnits], initializer: 0 },
    ]
  }

  step(x, { c, h }, run) {
    const units = this.numUnits
    const [batch, inputSize] = x.shape
    const kernel = this.variables.get('kernel').data
    const bias = this.variables.get('bias').data
    const rows = inputSize + units
    const xh = new Float32Array(batch * rows)
    const z = new Float32Array(batch * 4 * units)
    for (let b = 0; b < batch; b++) {
      xh.set(x.data.subarray(b * inputSize, (b + 1) * inputSize), b * rows)
      xh.set(h.data.subarray(b * units, (b + 1) * units), b * rows + inputSize)
      z.set(bias, b * 4 * units)
    }
    run.products.addProduct(matrix(z, 4 * units), matrix(xh, rows), matrix(kernel, 4 * units), batch, 4 * units, rows)
    const shape = [batch, units]
    const next = {
      c: { data: new Float32Array(batch * units), shape },
      h: { data: new Float32Array(batch * units), shape },
    }
    for (let b = 0; b < batch; b++) {
      for (let u = 0; u < units; u++) {
        const k = b * units + u
        const gate = 4 * b * units + u
        const i = sigmoid(z[gate])
        const j = Math.tanh(z[gate + units])
        const f = sigmoid(z[gate + 2 * units] + 1)
        const o = sigmoid(z[gate + 3 * units])
        const cell = f * c.data[k] + i * j
        next.c.data[k] = cell
        next.h.data[k] = o * Math.tanh(cell)
        z[gate] = i
        z[gate + units] = j
        z[gate + 2 * units] = f
        z[gate + 3 * units] = o
      }
    }
    return {
      output: { data: next.h.data.slice(), shape },
      state: next,
      backward(dOutput, dState, gradients) {
        const dz = new Float32Array(z.length)
        const dc = new Float32Array(batch * units)
        for (let b = 0; b < batch; b++) {
          for (let u = 0; u < units; u++) {
            const k = b * units + u
            const gate = 4 * b * units + u
            const [i, j, f, o] = [z[gate], z[gate + units], z[gate + 2 * units], z[gate + 3 * units]]
            const activated = Math.tanh(next.c.data[k])
            const dh = dOutput.data[k] + dState.h.data[k]
            const dCell = dState.c.data[k] + dh * o * (1 - activated * activated)
            dz[gate] = dCell * j * i * (1 - i)
            dz[gate + units] = dCell * i * (1 - j * j)
            dz[gate + 2 * units] = dCell * c.data[k] * f * (1 - f)
            dz[gate + 3 * units] = dh * activated * o * (1 - o)
            dc[k] = dCell * f
          }
        }
        const dxh = new Float32Array(batch * rows)
        const weights = transposed(kernel, 4 * units)
        run.products.addProduct(matrix(dxh, rows), matrix(dz, 4 * units), weights, batch, rows, 4 * units)
        run.addToKernelGradient(gradients.get('kernel'), 0, rows, xh, dz)
        const dx = new Float32Array(batch * inputSize)
        const dh = new Float32Array(batch * units)
        for (let b = 0; b < batch; b++) {
          dx.set(dxh.subarray(b * rows, b * rows + inputSize), b * inputSize)
          dh.set(dxh.subarray(b * rows + inputSize, (b + 1) * rows), b * units)
        }
        const dBias = gradients.get('bias').data
        for (let k = 0; k < dz.length; k++) dBias[k % (4 * units)] += dz[k]
        return { input: { data: dx, shape: x.shape }, state: { c: { data: dc, shape }, h: { data: dh, shape } } }
      },
    }
  }
}
