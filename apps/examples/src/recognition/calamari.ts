import { lstmLayer, otherModel, weightReader } from '@cudnn-rnn/pretrained'
import { type Backend, dense, importWeights, type LayerDefinition, type LayersModel, sequential } from '@cudnn-rnn/rnn'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { conv2d, maxPool2d } from '@cudnn-rnn/rnn/layers'

const LINE_PIXELS = 48
const FILTERS = [40, 60] as const
const UNITS = 200
/** Columns of the input of the LSTM: 60 channels of a quarter of the height. */
const FEATURES = (LINE_PIXELS / 4) * FILTERS[1]

/**
 * The network of Calamari OCR 0.3, as its checkpoints of TensorFlow 1 hold it: two convolutions with pooling over a line of
 * 48 pixels, a bidirectional CudnnLSTM of 200 units, and a dense layer to the codec's characters and the blank, which comes
 * last. `predict` computes logits of lines [width,B,48], column by column, 0 for paper and 1 for ink or as the model was
 * trained: a step for every four columns.
 *
 * @param prefix of a checkpoint, `model.ckpt`; its variables are in the scope `cnn_lstm` or in none.
 * @throws RangeError `ERR_OTHER_MODEL`
 */
export async function openCalamari(backend: Backend, prefix: string): Promise<LayersModel> {
  await using file = await openWeightFile(prefix)
  const scope = file.tensors.some(({ name }) => name === 'cnn_lstm/W') ? 'cnn_lstm/' : ''
  const read = weightReader(file)
  const layers: LayerDefinition[] = []
  for (const [index, filters] of FILTERS.entries()) {
    const name = `${scope}conv2d${index === 0 ? '' : `_${index}`}`
    const height = LINE_PIXELS / 2 ** index
    const channels = index === 0 ? 1 : FILTERS[index - 1]
    const kernelInitializer = await read(`${name}/kernel`, [3, 3, channels, filters])
    const biasInitializer = await read(`${name}/bias`, [filters])
    const common = { height, padding: 'same' } as const
    const kernelSize = [3, 3] as const
    layers.push(
      conv2d({ ...common, filters, kernelSize, activation: 'relu', kernelInitializer, biasInitializer }),
      maxPool2d(common),
    )
  }
  const { networks } = await importWeights(file)
  const network = networks.find(({ descriptor: { cellMode, direction, numLayers, numUnits, inputSize } }) => {
    const found = `${cellMode} ${direction} ${numLayers} ${inputSize} ${numUnits}`
    return found === `lstm bidirectional 1 ${FEATURES} ${UNITS}`
  })
  if (network === undefined) {
    const found = networks.map(
      ({ descriptor }) => `${descriptor.cellMode} ${descriptor.inputSize} → ${descriptor.numUnits}`,
    )
    throw otherModel(prefix, `it must hold a bidirectional lstm ${FEATURES} → ${UNITS}`, found.join('; ') || 'none')
  }
  const units = file.tensors.find(({ name }) => name === `${scope}B`)?.shape[0] ?? 0
  const kernelInitializer = await read(`${scope}W`, [2 * UNITS, units])
  const head = dense({ units, kernelInitializer, biasInitializer: await read(`${scope}B`, [units]) })
  return sequential(backend, [...layers, lstmLayer(network), head], { inputSize: LINE_PIXELS })
}

/**
 * The texts of lines [width,48].
 *
 * @param charset of the codec: `charset[k + 1]` is label k, as Calamari counts the blank first.
 */
export async function readLines(
  model: LayersModel,
  lines: readonly Float32Array[],
  charset: readonly string[],
): Promise<string[]> {
  const inputs = lines.map((data) => ({ data, shape: [data.length / LINE_PIXELS, LINE_PIXELS] }))
  const decoded = await model.decode(inputs, { loss: 'ctc' })
  return decoded.map((labels) => labels.map((label) => charset[label + 1] ?? '').join(''))
}
