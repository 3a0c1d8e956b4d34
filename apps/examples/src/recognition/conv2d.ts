/** A convolution without strides whose result has the size of its input: kernel [width, height, inputs, outputs]. */
export interface Conv2d {
  readonly kernel: Float32Array
  readonly bias: Float32Array
  readonly size: readonly [width: number, height: number]
  readonly inputs: number
}

/** [width, height, channels], row-major. */
export interface Planes {
  readonly width: number
  readonly height: number
  readonly channels: number
  readonly data: Float32Array
}

/** max(0, conv(x) + bias): TensorFlow's `conv2d` with padding 'same' and ReLU. */
export function conv2dRelu({ width, height, channels, data }: Planes, { kernel, bias, size, inputs }: Conv2d): Planes {
  const outputs = bias.length
  const result = new Float32Array(width * height * outputs)
  const [left, top] = [(size[0] - 1) >> 1, (size[1] - 1) >> 1]
  for (let x = 0; x < width; x++) {
    for (let y = 0; y < height; y++) {
      const out = result.subarray((x * height + y) * outputs, (x * height + y + 1) * outputs)
      out.set(bias)
      for (let i = 0; i < size[0] * size[1]; i++) {
        const [fromX, fromY] = [x + Math.floor(i / size[1]) - left, y + (i % size[1]) - top]
        if (fromX < 0 || fromX >= width || fromY < 0 || fromY >= height) continue
        for (let c = 0; c < inputs; c++) {
          const value = data[(fromX * height + fromY) * channels + c]
          const at = (i * inputs + c) * outputs
          for (let o = 0; o < outputs; o++) out[o] += value * kernel[at + o]
        }
      }
      for (let o = 0; o < outputs; o++) out[o] = Math.max(0, out[o])
    }
  }
  return { width, height, channels: outputs, data: result }
}

/** The largest of every 2 × 2 places: TensorFlow's `max_pooling2d` with padding 'same'. */
export function maxPool2({ width, height, channels, data }: Planes): Planes {
  const [halfWidth, halfHeight] = [Math.ceil(width / 2), Math.ceil(height / 2)]
  const result = new Float32Array(halfWidth * halfHeight * channels).fill(Number.NEGATIVE_INFINITY)
  for (let x = 0; x < width; x++) {
    for (let y = 0; y < height; y++) {
      const at = ((x >> 1) * halfHeight + (y >> 1)) * channels
      for (let c = 0; c < channels; c++) {
        result[at + c] = Math.max(result[at + c], data[(x * height + y) * channels + c])
      }
    }
  }
  return { width: halfWidth, height: halfHeight, channels, data: result }
}
