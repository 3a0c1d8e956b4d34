import { type Backend, type BackendTensor, CudnnLSTM, importWeights, type Tensor, type Variable } from '@cudnn-rnn/rnn'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { lstmsOf, weightReader } from '../named_weights.js'

/** Features of a frame: 26 cepstral coefficients of 19 windows, the one in the middle its own. */
const FEATURES = 26 * 19
const RELU_CLIP = 20

interface DenseLayer {
  readonly kernel: BackendTensor
  readonly bias: BackendTensor
}

/**
 * The acoustic model of Mozilla DeepSpeech 0.6 to 0.9, as its checkpoints hold it: three dense layers with clipped ReLU, an
 * LSTM without forget bias, one more dense layer, and logits over the alphabet and the blank, which comes last.
 */
export class DeepSpeechModel {
  readonly backend: Backend
  /** The classes, the blank included: 29 in English. */
  readonly classes: number
  readonly #before: readonly DenseLayer[]
  readonly #lstm: CudnnLSTM
  readonly #params: Variable
  readonly #after: DenseLayer
  readonly #logits: DenseLayer

  private constructor(backend: Backend, layers: readonly DenseLayer[], lstm: CudnnLSTM, params: Variable) {
    const [first, second, third, fifth, sixth] = layers as [DenseLayer, DenseLayer, DenseLayer, DenseLayer, DenseLayer]
    this.backend = backend
    this.classes = sixth.bias.shape[0]
    this.#before = [first, second, third]
    this.#lstm = lstm
    this.#params = params
    this.#after = fifth
    this.#logits = sixth
  }

  /**
   * @param prefix of a checkpoint with `layer_1` … `layer_6` and `cudnn_lstm`; any width of the layers.
   * @throws RangeError `ERR_OTHER_MODEL`
   */
  static async open(backend: Backend, prefix: string): Promise<DeepSpeechModel> {
    const file = await openWeightFile(prefix)
    try {
      const read = weightReader(file)
      const widthOf = (layer: number) => file.tensors.find(({ name }) => name === `layer_${layer}/bias`)?.shape[0] ?? 0
      const [h1, h2, h3, h5, classes] = [1, 2, 3, 5, 6].map(widthOf) as [number, number, number, number, number]
      const [lstmNetwork] = lstmsOf(prefix, (await importWeights(file)).networks, [[h3, h3]])
      const sizes = [
        [1, FEATURES, h1],
        [2, h1, h2],
        [3, h2, h3],
        [5, lstmNetwork.descriptor.numUnits, h5],
        [6, h5, classes],
      ] as const
      const layers: DenseLayer[] = []
      for (const [layer, inputs, outputs] of sizes) {
        const kernel = await read(`layer_${layer}/weights`, [inputs, outputs])
        const bias = await read(`layer_${layer}/bias`, [outputs])
        layers.push({
          kernel: backend.tensor({ data: kernel, shape: [inputs, outputs] }),
          bias: backend.tensor({ data: bias, shape: [outputs] }),
        })
      }
      const lstm = new CudnnLSTM(backend, lstmNetwork.descriptor)
      const params = lstm.createParams()
      const { weights, biases } = lstmNetwork.canonical
      using canonical = await lstm.canonicalToParams(weights, biases)
      backend.ops.assign(params.value, canonical)
      return new DeepSpeechModel(backend, layers, lstm, params)
    } finally {
      await file.close()
    }
  }

  /** Logits [T,B,K] of features [T,B,494]. */
  async logits(features: Tensor, sequenceLengths: readonly number[] | null = null): Promise<Tensor> {
    let x = features
    for (const layer of this.#before) x = clippedRelu(await this.#dense(x, layer))
    const called = await this.#lstm.call(x, null, null, this.#params, { isTraining: false, sequenceLengths })
    const { data, shape } = await called.output.read()
    x = { data: data.slice(), shape }
    for (const tensor of [called.output, called.outputH, called.outputC]) tensor.dispose()
    return this.#dense(clippedRelu(await this.#dense(x, this.#after)), this.#logits)
  }

  dispose(): void {
    for (const { kernel, bias } of [...this.#before, this.#after, this.#logits]) {
      kernel.dispose()
      bias.dispose()
    }
    this.#params.value.dispose()
    this.#lstm.dispose()
  }

  async #dense(x: Tensor, { kernel, bias }: DenseLayer): Promise<Tensor> {
    const y = this.backend.ops.linear(x, kernel, bias)
    const { data, shape } = await y.read()
    const copy = { data: data.slice(), shape }
    y.dispose()
    return copy
  }
}

/** min(max(x, 0), 20), in place. */
function clippedRelu(x: Tensor): Tensor {
  for (let k = 0; k < x.data.length; k++) x.data[k] = Math.min(RELU_CLIP, Math.max(0, Number(x.data[k])))
  return x
}
