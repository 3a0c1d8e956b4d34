import { lstmLayer, lstmsOf, weightReader } from '@cudnn-rnn/pretrained'
import { type Backend, dense, importWeights, type LayersModel, sequential } from '@cudnn-rnn/rnn'
import { openWeightFile } from '@cudnn-rnn/rnn/interop'
import { activation } from '@cudnn-rnn/rnn/layers'

/** Features of a frame: 26 cepstral coefficients of 19 windows, the one in the middle its own. */
const FEATURES = 26 * 19
const CLIPPED_RELU = activation('relu', { maximum: 20 })

/**
 * The acoustic model of Mozilla DeepSpeech 0.6 to 0.9, as its checkpoints hold it: three dense layers with clipped ReLU, an
 * LSTM without forget bias, one more dense layer, and logits over the alphabet and the blank, which comes last. `predict`
 * computes logits [T,B,K] of features [T,B,494], and `decode` with `loss: 'ctc'` reads their labels.
 *
 * @param prefix of a checkpoint with `layer_1` … `layer_6` and `cudnn_lstm`; any width of the layers.
 * @throws RangeError `ERR_OTHER_MODEL`
 */
export async function openDeepSpeech(backend: Backend, prefix: string): Promise<LayersModel> {
  await using file = await openWeightFile(prefix)
  const read = weightReader(file)
  const unitsOf = (layer: number) => file.tensors.find(({ name }) => name === `layer_${layer}/bias`)?.shape[0] ?? 0
  const layer = async (number: number, inputs: number) => {
    const units = unitsOf(number)
    const kernelInitializer = await read(`layer_${number}/weights`, [inputs, units])
    return dense({ units, kernelInitializer, biasInitializer: await read(`layer_${number}/bias`, [units]) })
  }
  const [lstm] = lstmsOf(prefix, (await importWeights(file)).networks, [[unitsOf(3), unitsOf(3)]])
  const layers = [
    await layer(1, FEATURES),
    CLIPPED_RELU,
    await layer(2, unitsOf(1)),
    CLIPPED_RELU,
    await layer(3, unitsOf(2)),
    CLIPPED_RELU,
    lstmLayer(lstm),
    await layer(5, lstm.descriptor.numUnits),
    CLIPPED_RELU,
    await layer(6, unitsOf(5)),
  ]
  return sequential(backend, layers, { inputSize: FEATURES })
}
