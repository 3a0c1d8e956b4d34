import { type Backend, dense, importWeights, layerNorm, type LayersModel, sequential } from '@cudnn-rnn/rnn'
import { openWeightFile, stackNetworks, type WeightInput } from '@cudnn-rnn/rnn/interop'
import { type ModelStream, multiply } from '@cudnn-rnn/rnn/layers'
import { lstmLayer, lstmsOf, weightReader } from './named_weights.js'
import { OverlapAdd, SlidingBlock } from './signal/overlap_add.js'
import { RealFourier } from './signal/real_fourier.js'

/** Samples of a block, and of its step: 32 ms and 8 ms at 16 kHz. */
export const BLOCK = 512
export const SHIFT = 128
const BINS = BLOCK / 2 + 1
const FEATURES = 256
const UNITS = 128
const EPSILON = 1e-7

/**
 * DTLN, a denoiser for real time (Westhausen & Meyer 2020): a mask on the magnitudes of a Fourier transform, then one on
 * the features of a learned transform, each from two LSTM layers whose state is carried from block to block.
 */
export class Dtln {
  readonly #models: readonly LayersModel[]
  readonly #first: ModelStream
  readonly #second: ModelStream
  readonly #fourier = new RealFourier(BLOCK)
  readonly #input = new SlidingBlock(BLOCK)
  readonly #output = new OverlapAdd(BLOCK, SHIFT)

  private constructor(first: LayersModel, second: LayersModel) {
    this.#models = [first, second]
    this.#first = first.stream()
    this.#second = second.stream()
  }

  /**
   * @param weights `pretrained_model/model.h5` of breizhn/DTLN.
   * @throws RangeError `ERR_OTHER_MODEL` for another file; as `openWeightFile`
   */
  static async open(backend: Backend, weights: WeightInput): Promise<Dtln> {
    const file = await openWeightFile(weights)
    try {
      const { networks } = await importWeights(file)
      const [a, b, c, d] = lstmsOf(file.path, networks, [
        [BINS, UNITS],
        [UNITS, UNITS],
        [FEATURES, UNITS],
        [UNITS, UNITS],
      ])
      const read = weightReader(file)
      const mask = async (name: string, units: number) => {
        const kernelInitializer = await read(`${name}/${name}/kernel:0`, [UNITS, units])
        const biasInitializer = await read(`${name}/${name}/bias:0`, [units])
        return dense({ units, activation: 'sigmoid', kernelInitializer, biasInitializer })
      }
      // A learned transform and its inverse: convolutions over one block, which are products.
      const transform = async (name: string, inputs: number, units: number) => {
        const { data } = await read(`${name}/${name}/kernel:0`, [1, inputs, units])
        return dense({ units, kernelInitializer: { data, shape: [inputs, units] } })
      }
      const normalized = layerNorm({
        epsilon: EPSILON,
        gammaInitializer: await read('layer_normalization/layer_normalization/gamma:0', [FEATURES]),
        betaInitializer: await read('layer_normalization/layer_normalization/beta:0', [FEATURES]),
      })
      const first = [lstmLayer(stackNetworks([a, b])), await mask('dense', BINS)]
      const second = [
        await transform('conv1d', BLOCK, FEATURES),
        multiply([[], [normalized, lstmLayer(stackNetworks([c, d])), await mask('dense_1', FEATURES)]]),
        await transform('conv1d_1', FEATURES, BLOCK),
      ]
      return new Dtln(sequential(backend, first), sequential(backend, second, { inputSize: BLOCK }))
    } finally {
      await file.close()
    }
  }

  /** The next {@link SHIFT} samples in, as many out: those of {@link BLOCK} − {@link SHIFT} samples before. */
  async process(samples: Float32Array): Promise<Float32Array> {
    const spectrum = this.#fourier.transform(this.#input.push(samples))
    const mask = await this.magnitudeMask(this.#fourier.magnitudes(spectrum))
    return this.#output.push(await this.refine(this.#fourier.inverse(spectrum, mask)))
  }

  /** The first half: magnitudes [257] → mask [257]. */
  async magnitudeMask(magnitudes: Float32Array): Promise<Float32Array> {
    const { data } = await this.#first.step({ data: magnitudes, shape: [1, BINS] })
    return data as Float32Array
  }

  /** The second half: a block of samples [512] → a cleaner one. */
  async refine(block: Float32Array): Promise<Float32Array> {
    const { data } = await this.#second.step({ data: block, shape: [1, BLOCK] })
    return data as Float32Array
  }

  dispose(): void {
    for (const stream of [this.#first, this.#second]) stream.dispose()
    for (const model of this.#models) model.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
