import type { Backend } from '@cudnn-rnn/rnn'
import { type Dense, dense, sigmoid } from '../dense.js'
import { LstmStream } from '../lstm_stream.js'
import { type Conv1d, conv1d, relu } from './conv1d.js'
import { CONTEXT, FRAME, readSileroWeights } from './silero_weights.js'

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
    const { transform, encoder, lstm, output } = await readSileroWeights(path)
    return new SileroVad(transform, encoder, await LstmStream.open(backend, lstm), output)
  }

  /** Probability of speech in the next {@link FRAME} samples. */
  async process(samples: Float32Array): Promise<number> {
    const spectrum = conv1d(this.#padded(samples), this.#transform)
    let x = magnitudes(spectrum)
    for (const layer of this.#encoder) x = relu(conv1d(x, layer))
    const hidden = relu(await this.#lstm.step(x).then((h) => h.slice()))
    return sigmoid(dense(hidden, this.#output, new Float32Array(1)))[0]
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
    for (let n = 1; n <= CONTEXT; n++) padded[last + n] = padded[last - n]
    this.#context.set(samples.subarray(FRAME - CONTEXT))
    return padded
  }
}

/** Real parts [129,T] above imaginary ones → magnitudes [129,T]. */
function magnitudes(spectrum: Float32Array): Float32Array {
  const half = spectrum.length / 2
  return Float32Array.from({ length: half }, (_, k) => Math.hypot(spectrum[k], spectrum[half + k]))
}
