import { type Backend, dense, type LayersModel, sequential } from '@cudnn-rnn/rnn'
import type { WeightInput } from '@cudnn-rnn/rnn/interop'
import { activation, conv1d, type ModelStream, transpose } from '@cudnn-rnn/rnn/layers'
import { lstmLayer } from './named_weights.js'
import { splitMagnitudes } from './signal/split_magnitudes.js'
import { CONTEXT, type Conv1d, FRAME, readSileroWeights, type SileroWeights, UNITS } from './silero_weights.js'

/**
 * Silero VAD 6.2 at 16 kHz: magnitudes of a short Fourier transform (by convolution), four convolutions, one LSTM cell whose
 * state is carried from frame to frame, and one number: the probability of speech.
 */
export class SileroVad {
  readonly #transform: LayersModel
  readonly #encoder: LayersModel
  readonly #decoder: LayersModel
  readonly #stream: ModelStream
  readonly #context = new Float32Array(CONTEXT)

  private constructor(backend: Backend, { transform, encoder, lstm, output }: SileroWeights) {
    this.#transform = sequential(backend, [convolution(transform)], { inputSize: 1 })
    this.#encoder = sequential(
      backend,
      encoder.flatMap((layer) => [convolution(layer), activation('relu')]),
      { inputSize: encoder[0].inputs },
    )
    this.#decoder = sequential(backend, [
      lstmLayer(lstm),
      activation('relu'),
      dense({
        units: 1,
        activation: 'sigmoid',
        kernelInitializer: { data: output.kernel, shape: [UNITS, 1] },
        biasInitializer: { data: output.bias, shape: [1] },
      }),
    ])
    this.#stream = this.#decoder.stream()
  }

  /**
   * @param weights `silero_vad_16k_op15.onnx` of snakers4/silero-vad.
   * @throws RangeError `ERR_OTHER_MODEL` for another file; as `openWeightFile`
   */
  static async open(backend: Backend, weights: WeightInput): Promise<SileroVad> {
    return new SileroVad(backend, await readSileroWeights(weights))
  }

  /** Probability of speech in the next {@link FRAME} samples. */
  async process(samples: Float32Array): Promise<number> {
    const padded = this.#padded(samples)
    const { data, shape } = await this.#transform.predict({ data: padded, shape: [padded.length, 1, 1] })
    const [steps, , columns] = shape as readonly [number, number, number]
    const bins = columns / 2
    const features = await this.#encoder.predict({ data: splitMagnitudes(data, bins), shape: [steps, 1, bins] })
    const { data: probability } = await this.#stream.step({ data: features.data, shape: [1, UNITS] })
    return probability[0]
  }

  dispose(): void {
    this.#stream.dispose()
    for (const model of [this.#transform, this.#encoder, this.#decoder]) model.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  /** The context before, the samples, and their end mirrored. */
  #padded(samples: Float32Array): Float32Array {
    const mirrored = samples.slice(-CONTEXT - 1, -1).reverse()
    const padded = Float32Array.of(...this.#context, ...samples, ...mirrored)
    this.#context.set(samples.subarray(FRAME - CONTEXT))
    return padded
  }
}

function convolution({ weight, bias, inputs, width, stride, padding }: Conv1d) {
  const filters = bias.length
  return conv1d({
    filters,
    kernelSize: width,
    strides: stride,
    padding,
    kernelInitializer: transpose({ data: weight, shape: [filters, inputs, width] }, [2, 1, 0]),
    biasInitializer: { data: bias, shape: [filters] },
  })
}
