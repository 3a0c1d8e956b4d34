/** Weights of a layer around a network: kernel [I,O], bias [O]. */
export interface Dense {
  readonly kernel: Float32Array
  readonly bias: Float32Array
}

/** y = x·kernel + bias, written into `output` [O]. */
export function dense(input: Float32Array, { kernel, bias }: Dense, output: Float32Array): Float32Array {
  const width = output.length
  output.set(bias)
  for (let row = 0, at = 0; row < input.length; row++) {
    const x = input[row]
    for (let column = 0; column < width; column++) output[column] += x * kernel[at++]
  }
  return output
}

export function sigmoid(values: Float32Array): Float32Array {
  for (let index = 0; index < values.length; index++) values[index] = 1 / (1 + Math.exp(-values[index]))
  return values
}
