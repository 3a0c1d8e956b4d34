import { randomUUID } from 'node:crypto'
import {
  BINS,
  CONTEXT,
  type Conv1d,
  FRAME,
  type SileroWeights,
  splitMagnitudes,
  UNITS,
  WINDOW,
} from '@cudnn-rnn/pretrained'
import {
  type Backend,
  type BackendTensor,
  CudnnLSTM,
  type ImportedNetwork,
  type RnnStreamState,
  type RowNetwork,
  type SharedParams,
  type Stream,
  type Variable,
} from '@cudnn-rnn/rnn'
import { transpose } from '@cudnn-rnn/rnn/layers'

/** A matrix in memory that threads share: y = x·kernel + bias. */
interface SharedMatrix {
  readonly id: string
  /** [inputs, outputs] */
  readonly kernel: Float32Array
  readonly bias: Float32Array
}

/** The weights of Silero VAD as a worker thread takes them: no thread copies them. */
export interface SharedSilero {
  readonly lstm: SharedParams
  readonly transform: SharedMatrix
  readonly encoder: readonly SharedMatrix[]
  readonly output: SharedMatrix
}

/** Taps of each convolution that see more than zeros: the last two layers have one or two steps left. */
const ENCODER_TAPS = [[0, 1, 2], [0, 1, 2], [1, 2], [1]] as const

/** Copies the weights once into memory that threads share, in the layout of {@link SileroRows}. */
export async function shareSilero(backend: Backend, weights: SileroWeights): Promise<SharedSilero> {
  const model = lstmOf(backend, weights.lstm.descriptor)
  const params = model.createParams({ canonical: weights.lstm.canonical })
  const lstm = await model.shareParams(params)
  params.dispose()
  model.dispose()
  const { kernel, bias } = weights.output
  return {
    lstm,
    transform: sharedConvolution(
      weights.transform,
      Array.from({ length: WINDOW }, (_, tap) => tap),
    ),
    encoder: weights.encoder.map((layer, index) => sharedConvolution(layer, ENCODER_TAPS[index])),
    output: { id: randomUUID(), kernel: shared(kernel), bias: shared(bias) },
  }
}

/** A convolution [O,I,K] as the matrix [K·I,O] of the taps that are used: a window of its input is then one row. */
function sharedConvolution({ weight, bias, inputs, width }: Conv1d, taps: readonly number[]): SharedMatrix {
  const { data } = transpose({ data: weight, shape: [bias.length, inputs, width] }, [2, 1, 0]) // [K,I,O]
  const rows = inputs * bias.length
  // The taps are consecutive.
  const kernel = data.subarray(taps[0] * rows, (taps[0] + taps.length) * rows)
  return { id: randomUUID(), kernel: shared(kernel), bias: shared(bias) }
}

function shared(values: Float32Array): Float32Array {
  const copy = new Float32Array(new SharedArrayBuffer(values.byteLength))
  copy.set(values)
  return copy
}

/** The carried state of one stream. */
export interface SileroState {
  readonly lstm: RnnStreamState
  /** The last samples of the frame before. */
  readonly context: Float32Array
}

/** Rows that go through the encoder together: its matrices and this many rows stay in the second-level cache. */
const BLOCK = 32
/** Windows of a frame. */
const STEPS = 4

/** Silero VAD for many streams: frames [R,512] to probabilities of speech [R,1], each layer one product of all rows. */
export class SileroRows implements RowNetwork<SileroState> {
  readonly dtype = 'float32'
  readonly inputSize = FRAME
  readonly outputSize = 1
  readonly #model: CudnnLSTM
  readonly #params: Variable
  readonly #lstm: Stream
  readonly #transform: Matrix
  readonly #encoder: readonly Matrix[]
  readonly #output: Matrix
  /** [maxStreams, CONTEXT] */
  readonly #contexts: Float32Array
  /** One frame between its context and its mirrored end. */
  readonly #padded = new Float32Array(CONTEXT + FRAME + CONTEXT)
  /** The operands of one block, written again for each; zeros stay where a window reaches over the end. */
  readonly #windows = new Float32Array(BLOCK * STEPS * WINDOW)
  readonly #spectra = new Float32Array(BLOCK * STEPS * 3 * BINS)
  readonly #second = new Float32Array(BLOCK * 2 * 3 * UNITS)

  /** @param descriptor of the LSTM */
  constructor(
    backend: Backend,
    weights: SharedSilero,
    descriptor: SileroWeights['lstm']['descriptor'],
    maxStreams: number,
  ) {
    this.#model = lstmOf(backend, descriptor)
    this.#params = this.#model.sharedParams(weights.lstm)
    this.#lstm = this.#model.stream(this.#params, { batch: maxStreams })
    this.#transform = new Matrix(backend, weights.transform)
    this.#encoder = weights.encoder.map((matrix) => new Matrix(backend, matrix))
    this.#output = new Matrix(backend, weights.output)
    this.#contexts = new Float32Array(maxStreams * CONTEXT)
  }

  async step(rows: Int32Array, input: Float32Array, output: Float32Array): Promise<void> {
    const count = rows.length
    const frames = input.slice()
    const features = new Float32Array(count * UNITS)
    for (let begin = 0; begin < count; begin += BLOCK) {
      const end = Math.min(count, begin + BLOCK)
      features.set(
        await this.#encode(rows.subarray(begin, end), frames.subarray(begin * FRAME, end * FRAME)),
        begin * UNITS,
      )
    }
    const { data: hidden } = await this.#lstm.stepRows(rows, { data: features, shape: [count, UNITS] })
    const probabilities = await this.#output.apply(hidden as Float32Array, count, { before: 'relu', after: 'sigmoid' })
    // States change after the last operation that can fail.
    output.set(probabilities)
    for (let index = 0; index < count; index++) {
      const last = (index + 1) * FRAME
      this.#contexts.set(frames.subarray(last - CONTEXT, last), rows[index] * CONTEXT)
    }
  }

  reset(row: number): void {
    this.#lstm.reset([row])
    this.#contexts.fill(0, row * CONTEXT, (row + 1) * CONTEXT)
  }

  async state(row: number): Promise<SileroState> {
    const context = this.#contexts.slice(row * CONTEXT, (row + 1) * CONTEXT)
    return { lstm: await this.#lstm.state([row]), context }
  }

  /** The LSTM checks its part when it is restored. */
  checkedState(state: SileroState): SileroState {
    return structuredClone(state)
  }

  restore(row: number, { lstm, context }: SileroState): void {
    this.#lstm.restore(lstm, [row])
    this.#contexts.set(context, row * CONTEXT)
  }

  dispose(): void {
    this.#lstm.dispose()
    this.#params.dispose()
    this.#model.dispose()
    for (const matrix of [this.#transform, ...this.#encoder, this.#output]) matrix.dispose()
  }

  /** Frames [R,512] of a block → features [R,128]. */
  async #encode(rows: Int32Array, frames: Float32Array): Promise<Float32Array> {
    const count = rows.length
    const [first, second, third, fourth] = this.#encoder as [Matrix, Matrix, Matrix, Matrix]
    this.#gatherWindows(rows, frames)
    this.#gatherSpectra(await this.#transform.apply(this.#windows, count * STEPS), count)
    gatherHalved(this.#second, await first.apply(this.#spectra, count * STEPS, RELU), count)
    const two = await second.apply(this.#second, count * 2, RELU) // [R,2·64]: both steps are the third layer's taps
    const one = await third.apply(two, count, RELU)
    return fourth.apply(one, count, RELU)
  }

  /** The context before, the samples, and their end mirrored: [R,640], of which each window is a row of the product. */
  #gatherWindows(rows: Int32Array, frames: Float32Array): void {
    const padded = this.#padded
    const last = CONTEXT + FRAME - 1
    for (let index = 0; index < rows.length; index++) {
      const context = rows[index] * CONTEXT
      padded.set(this.#contexts.subarray(context, context + CONTEXT))
      padded.set(frames.subarray(index * FRAME, (index + 1) * FRAME), CONTEXT)
      for (let distance = 1; distance <= CONTEXT; distance++) padded[last + distance] = padded[last - distance]
      for (let t = 0; t < STEPS; t++) {
        const begin = t * (WINDOW / 2)
        this.#windows.set(padded.subarray(begin, begin + WINDOW), (index * STEPS + t) * WINDOW)
      }
    }
  }

  /** Magnitudes of the spectra [R·4,2·BINS], each at the three places where a window of three steps has it. */
  #gatherSpectra(spectrum: Float32Array, count: number): void {
    const to = this.#spectra
    const width = 3 * BINS
    const magnitudes = splitMagnitudes(spectrum, BINS)
    for (let index = 0; index < count; index++) {
      for (let t = 0; t < STEPS; t++) {
        const step = index * STEPS + t
        const middle = step * width + BINS
        to.set(magnitudes.subarray(step * BINS, (step + 1) * BINS), middle)
        if (t > 0) to.copyWithin((step - 1) * width + 2 * BINS, middle, middle + BINS)
        if (t < STEPS - 1) to.copyWithin((step + 1) * width, middle, middle + BINS)
      }
    }
  }
}

/** [R·4,128] as the windows [R·2,3·128] of a convolution of stride 2: steps -1, 0, 1 and 1, 2, 3. */
function gatherHalved(to: Float32Array, from: Float32Array, count: number): void {
  const width = 3 * UNITS
  for (let index = 0; index < count; index++) {
    const begin = index * STEPS * UNITS
    const place = index * 2 * width
    to.set(from.subarray(begin, begin + 2 * UNITS), place + UNITS)
    to.set(from.subarray(begin + UNITS, begin + 4 * UNITS), place + width)
  }
}

/** Activations around a product. */
interface Activations {
  readonly before?: 'relu'
  readonly after?: 'relu' | 'sigmoid'
}

const RELU: Activations = { after: 'relu' }

/** A matrix of the executor over shared memory if it computes on the host. */
class Matrix {
  readonly #backend: Backend
  readonly #inputs: number
  readonly #outputs: number
  readonly #kernel: BackendTensor
  readonly #bias: BackendTensor

  constructor(backend: Backend, { id, kernel, bias }: SharedMatrix) {
    this.#backend = backend
    this.#outputs = bias.length
    this.#inputs = kernel.length / bias.length
    const tensor = (data: Float32Array, shape: readonly number[]) =>
      backend.shared?.tensor(data, { shape, layout: undefined, id }) ?? backend.tensor({ data, shape })
    this.#kernel = tensor(kernel, [this.#inputs, this.#outputs])
    this.#bias = tensor(bias, [this.#outputs])
  }

  /** The first `rows` rows of x [·,inputs] → a new array, [rows,outputs]. */
  async apply(x: Float32Array, rows: number, { before, after }: Activations = {}): Promise<Float32Array> {
    const { ops } = this.#backend
    const given = { data: x.subarray(0, rows * this.#inputs), shape: [rows, this.#inputs] }
    using activated = before === undefined ? null : ops.activate(given, before)
    using product = ops.linear(activated ?? given, this.#kernel, this.#bias)
    using result = after === undefined ? null : ops.activate(product, after)
    const { data } = await (result ?? product).read()
    return data as Float32Array
  }

  dispose(): void {
    this.#kernel.dispose()
    this.#bias.dispose()
  }
}

/** The model of a descriptor. */
function lstmOf(backend: Backend, descriptor: ImportedNetwork['descriptor']): CudnnLSTM {
  const { numLayers, numUnits, inputSize, inputMode } = descriptor
  return new CudnnLSTM(backend, { numLayers, numUnits, inputSize, inputMode })
}
