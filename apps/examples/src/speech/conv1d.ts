/** A convolution over time: weight [O,I,K], bias [O]; zeros are put on both sides. */
export interface Conv1d {
  readonly weight: Float32Array
  readonly bias: Float32Array
  /** I */
  readonly inputs: number
  /** K */
  readonly width: number
  readonly stride: number
  readonly padding: number
}

/** [I,T] → [O,T']. */
export function conv1d(input: Float32Array, { weight, bias, inputs, width, stride, padding }: Conv1d): Float32Array {
  const T = input.length / inputs
  const steps = Math.floor((T + 2 * padding - width) / stride) + 1
  const output = new Float32Array(bias.length * steps)
  for (let channel = 0; channel < bias.length; channel++) {
    for (let step = 0; step < steps; step++) {
      let sum = bias[channel]
      const start = step * stride - padding
      const [first, last] = [Math.max(0, -start), Math.min(width, T - start)]
      for (let row = 0; row < inputs; row++) {
        const at = (channel * inputs + row) * width
        for (let k = first; k < last; k++) sum += weight[at + k] * input[row * T + start + k]
      }
      output[channel * steps + step] = sum
    }
  }
  return output
}

export function relu(values: Float32Array): Float32Array {
  for (let index = 0; index < values.length; index++) if (values[index] < 0) values[index] = 0
  return values
}
