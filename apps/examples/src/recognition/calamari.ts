import { type Backend, CudnnLSTM, importWeights, type Tensor, type Trainable, type Variable } from '@cudnn-rnn/rnn'
import { ctcGreedyDecoder } from '@cudnn-rnn/rnn/ctc'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { otherModel, weightReader } from '../named_weights.js'
import { type Conv2d, conv2dRelu, maxPool2, type Planes } from './conv2d.js'

/** Height of a line in pixels. */
const LINE_PIXELS = 48
const FILTERS = [40, 60] as const
const UNITS = 200
/** Rows of features under the LSTM: 60 planes of a quarter of the height. */
const FEATURES = (LINE_PIXELS / 4) * FILTERS[1]

/**
 * The network of Calamari OCR 0.3, as its checkpoints of TensorFlow 1 hold it: two convolutions with pooling over a line of
 * 48 pixels, a bidirectional CudnnLSTM of 200 units, and a dense layer to the codec's characters and the blank.
 */
export class CalamariModel {
  readonly backend: Backend
  readonly #convolutions: readonly Conv2d[]
  readonly #lstm: CudnnLSTM
  readonly #params: Variable
  readonly #kernel: Trainable
  readonly #bias: Trainable

  private constructor(
    backend: Backend,
    convolutions: readonly Conv2d[],
    lstm: CudnnLSTM,
    params: Variable,
    kernel: Tensor,
    bias: Tensor,
  ) {
    this.backend = backend
    this.#convolutions = convolutions
    this.#lstm = lstm
    this.#params = params
    this.#kernel = { name: 'W', value: backend.tensor(kernel) }
    this.#bias = { name: 'B', value: backend.tensor(bias) }
  }

  /**
   * @param prefix of a checkpoint, `model.ckpt`; its variables are in the scope `cnn_lstm` or in none.
   * @throws RangeError `ERR_OTHER_MODEL`
   */
  static async open(backend: Backend, prefix: string): Promise<CalamariModel> {
    const file = await openWeightFile(prefix)
    try {
      const scope = file.tensors.some(({ name }) => name === 'cnn_lstm/W') ? 'cnn_lstm/' : ''
      const read = weightReader(file)
      const convolutions: Conv2d[] = []
      for (const [index, outputs] of FILTERS.entries()) {
        const name = `${scope}conv2d${index === 0 ? '' : `_${index}`}`
        const inputs = index === 0 ? 1 : FILTERS[index - 1]
        const kernel = await read(`${name}/kernel`, [3, 3, inputs, outputs])
        convolutions.push({ kernel, bias: await read(`${name}/bias`, [outputs]), size: [3, 3], inputs })
      }
      const classes = file.tensors.find(({ name }) => name === `${scope}B`)?.shape[0] ?? 0
      const kernel = { data: await read(`${scope}W`, [2 * UNITS, classes]), shape: [2 * UNITS, classes] }
      const bias = { data: await read(`${scope}B`, [classes]), shape: [classes] }
      const { networks } = await importWeights(file)
      const network = networks.find(({ descriptor: { cellMode, direction, numLayers, numUnits, inputSize } }) => {
        return (
          `${cellMode} ${direction} ${numLayers} ${inputSize} ${numUnits}` ===
          `lstm bidirectional 1 ${FEATURES} ${UNITS}`
        )
      })
      if (network === undefined) {
        const found = networks.map(
          ({ descriptor }) => `${descriptor.cellMode} ${descriptor.inputSize} → ${descriptor.numUnits}`,
        )
        throw otherModel(prefix, `it must hold a bidirectional lstm ${FEATURES} → ${UNITS}`, found.join('; ') || 'none')
      }
      const lstm = new CudnnLSTM(backend, network.descriptor)
      const params = lstm.createParams()
      const { weights, biases } = network.canonical
      using canonical = await lstm.canonicalToParams(weights, biases)
      backend.ops.assign(params.value, canonical)
      return new CalamariModel(backend, convolutions, lstm, params, kernel, bias)
    } finally {
      await file.close()
    }
  }

  /**
   * Logits [T,1,K] of one line, the blank last: a frame for every four columns.
   *
   * @param line [width, 48], row-major by columns: 0 is paper and 1 ink, or as the model was trained.
   */
  async logits(line: Float32Array): Promise<Tensor> {
    const { backend } = this
    let planes: Planes = { width: line.length / LINE_PIXELS, height: LINE_PIXELS, channels: 1, data: line }
    for (const convolution of this.#convolutions) planes = maxPool2(conv2dRelu(planes, convolution))
    const input = { data: planes.data, shape: [planes.width, 1, planes.height * planes.channels] }
    const { output, outputH, outputC } = await this.#lstm.call(input, null, null, this.#params, { isTraining: false })
    const logits = backend.ops.linear(output, this.#kernel.value, this.#bias.value)
    const { data, shape } = await logits.read()
    const copy = { data: data.slice(), shape }
    for (const tensor of [output, outputH, outputC, logits]) tensor.dispose()
    return copy
  }

  /**
   * The text of a line.
   *
   * @param charset of the codec: `charset[k + 1]` is label k, as Calamari counts the blank first.
   */
  async read(line: Float32Array, charset: readonly string[]): Promise<string> {
    const { decoded } = ctcGreedyDecoder(await this.logits(line), null)
    return decoded[0].map((label) => charset[label + 1] ?? '').join('')
  }

  dispose(): void {
    for (const { value } of [this.#params, this.#kernel, this.#bias]) value.dispose()
    this.#lstm.dispose()
  }
}
