import { type Backend, importWeights } from '@cudnn-rnn/rnn'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { type Dense, dense, sigmoid } from '../dense.js'
import { LstmStream } from '../lstm_stream.js'
import { lstmsOf, weightReader } from '../named_weights.js'
import { type Conv1d, conv1d, relu } from './conv1d.js'

/** New samples of a frame: 32 ms at 16 kHz; each frame also sees the 64 samples before it. */
export const FRAME = 512
const CONTEXT = 64
const WINDOW = 256
const BINS = WINDOW / 2 + 1
const UNITS = 128

/**
 * Silero VAD 6.2 at 16 kHz: magnitudes of a short Fourier transform (by convolution), four convolutions, one LSTM cell whose
 * state is carried from frame to frame, and one number: the probability of speech.
 */
export class SileroVad {
  readonly #transform: Conv1d
  readonly #encoder: readonly Conv1d[]
  readonly #lstm: LstmStream
  readonly #output: Dense
  readonly #context = new Float32Array(CONTEXT)

  private constructor(transform: Conv1d, encoder: readonly Conv1d[], lstm: LstmStream, output: Dense) {
    this.#transform = transform
    this.#encoder = encoder
    this.#lstm = lstm
    this.#output = output
  }

  /** @param path `silero_vad_16k_op15.onnx` of snakers4/silero-vad; another file throws RangeError `ERR_OTHER_MODEL`. */
  static async open(backend: Backend, path: string): Promise<SileroVad> {
    const file = await openWeightFile(path)
    try {
      const read = weightReader(file)
      const basis = await read('model.stft.forward_basis_buffer', [2 * BINS, 1, WINDOW])
      const transform = {
        weight: basis,
        bias: new Float32Array(2 * BINS),
        inputs: 1,
        width: WINDOW,
        stride: 128,
        padding: 0,
      }
      const layers = [
        [BINS, UNITS, 1],
        [UNITS, 64, 2],
        [64, 64, 2],
        [64, UNITS, 1],
      ] as const
      const encoder: Conv1d[] = []
      for (const [index, [inputs, outputs, stride]] of layers.entries()) {
        const name = `model.encoder.${index}.reparam_conv`
        const weight = await read(`${name}.weight`, [outputs, inputs, 3])
        const bias = await read(`${name}.bias`, [outputs])
        encoder.push({ weight, bias, inputs, width: 3, stride, padding: 1 })
      }
      const output = {
        kernel: await read('model.decoder.decoder.2.weight', [1, UNITS, 1]),
        bias: await read('model.decoder.decoder.2.bias', [1]),
      }
      const [lstm] = lstmsOf(path, (await importWeights(file)).networks, [[UNITS, UNITS]])
      return new SileroVad(transform, encoder, await LstmStream.open(backend, lstm!), output)
    } finally {
      await file.close()
    }
  }

  /** Probability of speech in the next {@link FRAME} samples. */
  async process(samples: Float32Array): Promise<number> {
    const spectrum = conv1d(this.#padded(samples), this.#transform)
    let x = magnitudes(spectrum)
    for (const layer of this.#encoder) x = relu(conv1d(x, layer))
    const hidden = relu(await this.#lstm.step(x).then((h) => h.slice()))
    return sigmoid(dense(hidden, this.#output, new Float32Array(1)))[0]!
  }

  dispose(): void {
    this.#lstm.dispose()
  }

  /** The context before, the samples, and their end mirrored. */
  #padded(samples: Float32Array): Float32Array {
    const padded = new Float32Array(CONTEXT + FRAME + CONTEXT)
    padded.set(this.#context)
    padded.set(samples, CONTEXT)
    const last = CONTEXT + FRAME - 1
    for (let n = 1; n <= CONTEXT; n++) padded[last + n] = padded[last - n]!
    this.#context.set(samples.subarray(FRAME - CONTEXT))
    return padded
  }
}

/** Real parts [129,T] above imaginary ones → magnitudes [129,T]. */
function magnitudes(spectrum: Float32Array): Float32Array {
  const half = spectrum.length / 2
  return Float32Array.from({ length: half }, (_, k) => Math.hypot(spectrum[k]!, spectrum[half + k]!))
}
