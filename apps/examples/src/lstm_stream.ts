import { type Backend, type BackendTensor, CudnnLSTM, type ImportedNetwork, type Stream } from '@cudnn-rnn/rnn'

/** An imported LSTM on an executor, stepping with its state carried inside. */
export class LstmStream {
  readonly numUnits: number
  readonly #model: CudnnLSTM
  readonly #params: BackendTensor
  readonly #stream: Stream

  private constructor(model: CudnnLSTM, params: BackendTensor) {
    this.numUnits = model.numUnits
    this.#model = model
    this.#params = params
    this.#stream = model.stream(params)
  }

  static async open(backend: Backend, { descriptor, canonical }: ImportedNetwork): Promise<LstmStream> {
    const model = lstmOf(backend, descriptor)
    return new LstmStream(model, await model.canonicalToParams(canonical.weights, canonical.biases))
  }

  /** One step: [I] → [H]. */
  async step(input: Float32Array): Promise<Float32Array> {
    const { data } = await this.#stream.step({ data: input, shape: [1, input.length] })
    return data as Float32Array
  }

  reset(): void {
    this.#stream.reset()
  }

  dispose(): void {
    this.#stream.dispose()
    this.#params.dispose()
    this.#model.dispose()
  }
}

/** The model of a descriptor. */
export function lstmOf(backend: Backend, descriptor: ImportedNetwork['descriptor']): CudnnLSTM {
  const { numLayers, numUnits, inputSize, inputMode } = descriptor
  return new CudnnLSTM(backend, { numLayers, numUnits, inputSize, inputMode })
}
