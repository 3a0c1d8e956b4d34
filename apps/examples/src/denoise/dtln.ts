import { type Backend, importWeights } from '@cudnn-rnn/rnn'
import { openWeightFile, stackNetworks } from '@cudnn-rnn/rnn/interop'
import FFT from 'fft.js'
import { type Dense, dense, sigmoid } from '../dense.js'
import { LstmStream } from '../lstm_stream.js'
import { lstmsOf, weightReader } from '../named_weights.js'

/** Samples of a block, and of its step: 32 ms and 8 ms at 16 kHz. */
export const BLOCK = 512
export const SHIFT = 128
const BINS = BLOCK / 2 + 1
const FEATURES = 256
const UNITS = 128
const EPSILON = 1e-7

/** Parameters outside the two networks. */
interface DtlnLayers {
  readonly mask1: Dense
  readonly mask2: Dense
  /** [512,256] and [256,512]: a learned transform and its inverse, without biases. */
  readonly encode: Dense
  readonly decode: Dense
  readonly gamma: Float32Array
  readonly beta: Float32Array
}

/**
 * DTLN, a denoiser for real time (Westhausen & Meyer 2020): a mask on the magnitudes of a Fourier transform, then one on
 * the features of a learned transform, each from two LSTM layers whose state is carried from block to block.
 */
export class Dtln {
  readonly #first: LstmStream
  readonly #second: LstmStream
  readonly #layers: DtlnLayers
  readonly #fft = new FFT(BLOCK)
  readonly #input = new Float32Array(BLOCK)
  readonly #output = new Float32Array(BLOCK)

  private constructor(first: LstmStream, second: LstmStream, layers: DtlnLayers) {
    this.#first = first
    this.#second = second
    this.#layers = layers
  }

  /** @param path `pretrained_model/model.h5` of breizhn/DTLN; another file throws RangeError `ERR_OTHER_MODEL`. */
  static async open(backend: Backend, path: string): Promise<Dtln> {
    const file = await openWeightFile(path)
    try {
      const { networks } = await importWeights(file)
      const [a, b, c, d] = lstmsOf(path, networks, [
        [BINS, UNITS],
        [UNITS, UNITS],
        [FEATURES, UNITS],
        [UNITS, UNITS],
      ])
      const read = weightReader(file)
      const ofLayer = async (name: string, outputs: number): Promise<Dense> => ({
        kernel: await read(`${name}/${name}/kernel:0`, [UNITS, outputs]),
        bias: await read(`${name}/${name}/bias:0`, [outputs]),
      })
      const layers = {
        mask1: await ofLayer('dense', BINS),
        mask2: await ofLayer('dense_1', FEATURES),
        encode: {
          kernel: await read('conv1d/conv1d/kernel:0', [1, BLOCK, FEATURES]),
          bias: new Float32Array(FEATURES),
        },
        decode: {
          kernel: await read('conv1d_1/conv1d_1/kernel:0', [1, FEATURES, BLOCK]),
          bias: new Float32Array(BLOCK),
        },
        gamma: await read('layer_normalization/layer_normalization/gamma:0', [FEATURES]),
        beta: await read('layer_normalization/layer_normalization/beta:0', [FEATURES]),
      }
      const first = await LstmStream.open(backend, stackNetworks([a, b]))
      return new Dtln(first, await LstmStream.open(backend, stackNetworks([c, d])), layers)
    } finally {
      await file.close()
    }
  }

  /** The next {@link SHIFT} samples in, as many out: those of {@link BLOCK} − {@link SHIFT} samples before. */
  async process(samples: Float32Array): Promise<Float32Array> {
    this.#input.copyWithin(0, SHIFT)
    this.#input.set(samples, BLOCK - SHIFT)
    const spectrum = this.#fft.createComplexArray()
    this.#fft.realTransform(spectrum, this.#input)
    const magnitudes = Float32Array.from({ length: BINS }, (_, k) => Math.hypot(spectrum[2 * k], spectrum[2 * k + 1]))
    const mask = await this.magnitudeMask(magnitudes)
    for (let k = 0; k < BINS; k++) {
      spectrum[2 * k] *= mask[k]
      spectrum[2 * k + 1] *= mask[k]
    }
    this.#fft.completeSpectrum(spectrum)
    const inverse = this.#fft.createComplexArray()
    this.#fft.inverseTransform(inverse, spectrum)
    const block = await this.refine(Float32Array.from({ length: BLOCK }, (_, n) => inverse[2 * n]))
    this.#output.copyWithin(0, SHIFT)
    this.#output.fill(0, BLOCK - SHIFT)
    for (let n = 0; n < BLOCK; n++) this.#output[n] += block[n]
    return this.#output.slice(0, SHIFT)
  }

  /** The first half: magnitudes [257] → mask [257]. */
  async magnitudeMask(magnitudes: Float32Array): Promise<Float32Array> {
    const hidden = await this.#first.step(magnitudes)
    return sigmoid(dense(hidden, this.#layers.mask1, new Float32Array(BINS)))
  }

  /** The second half: a block of samples [512] → a cleaner one. */
  async refine(block: Float32Array): Promise<Float32Array> {
    const { encode, decode, mask2, gamma, beta } = this.#layers
    const features = dense(block, encode, new Float32Array(FEATURES))
    const hidden = await this.#second.step(normalized(features, gamma, beta))
    const mask = sigmoid(dense(hidden, mask2, new Float32Array(FEATURES)))
    return dense(
      features.map((value, k) => value * mask[k]),
      decode,
      new Float32Array(BLOCK),
    )
  }

  dispose(): void {
    this.#first.dispose()
    this.#second.dispose()
  }
}

/** Mean 0 and variance 1 within one frame, then a learned scale and shift. */
function normalized(values: Float32Array, gamma: Float32Array, beta: Float32Array): Float32Array {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
  const scale = 1 / Math.sqrt(variance + EPSILON)
  return values.map((value, k) => (value - mean) * scale * gamma[k] + beta[k])
}
