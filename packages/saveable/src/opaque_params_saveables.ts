import type { CellMode } from '@cudnn-rnn/canonical'
import { checkOptions, codedRangeError, type OptionsOf, optional, TEXT } from '@cudnn-rnn/canonical/rules'
import { CanonicalSaveable } from './canonical_saveable.js'
import { cellPrefixes, cellScheme } from './cell_scheme.js'
import type { KeyScheme } from './key_scheme.js'
import type { CanonicalToParams, ParamsToCanonical, ParamVariable } from './param_variable.js'
import type { SavedNetwork } from './parsed_key.js'

const OPTIONS = {
  /** Variable scope of the keys: the CPU cells' scope. Default none. */
  scope: optional(TEXT),
  /** Default `cudnn_rnn_saveable`. */
  name: optional(TEXT),
}

/** Options of the saveables that write the variables of TensorFlow's CPU cells. */
interface OpaqueParamsSaveableOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * The saveables of TensorFlow 1.4 to 1.15, which write the variables of its CPU cells: train with CudnnLSTM, restore into
 * `CudnnCompatibleLSTMCell` or `LSTMBlockFusedCell`, and back. Lossy as there: only the sum of a gate's biases survives.
 * They have these keys for every naming of the Saver.
 */
abstract class CudnnOpaqueParamsSaveable extends CanonicalSaveable {
  protected abstract readonly rnnMode: CellMode
  readonly #scope: string

  constructor(
    paramsToCanonical: ParamsToCanonical,
    canonicalToParams: CanonicalToParams,
    paramVariables: readonly ParamVariable[],
    options: OpaqueParamsSaveableOptions = {},
  ) {
    const { scope = '', name = 'cudnn_rnn_saveable' } = checkOptions('make saveable', options, OPTIONS)
    super(paramsToCanonical, canonicalToParams, paramVariables, name)
    this.#scope = scope
  }

  protected override savedNetwork(): SavedNetwork {
    return { form: 'cells', name: this.#scope }
  }

  protected override scheme(): KeyScheme {
    return cellScheme((descriptor) => {
      if (descriptor.cellMode === this.rnnMode) return cellPrefixes(descriptor, this.#scope)
      throw codedRangeError(
        'ERR_OTHER_MODEL',
        `Cannot save ${this.name} as it is a saveable of ${this.rnnMode}: the parameters belong to ${descriptor.cellMode}`,
        { expected: this.rnnMode, actual: descriptor.cellMode },
      )
    })
  }
}

/**
 * `…/cudnn_compatible_lstm_cell/{kernel,bias}`; with a projection also `projection/kernel`.
 *
 * @example
 * ```ts
 * import { CudnnLSTM, openBackend, openCheckpoint } from '@cudnn-rnn/rnn'
 * import { CudnnLSTMSaveable, Saver } from '@cudnn-rnn/rnn/saveable'
 *
 * const backend = await openBackend('reference')
 * const lstm = new CudnnLSTM(backend, { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const params = lstm.createParams({ seed: 1 })
 * const saveable = new CudnnLSTMSaveable(lstm.paramsToCanonical, lstm.canonicalToParams, [params])
 * const prefix = await new Saver([saveable]).save('run/model')
 * const reader = await openCheckpoint(prefix)
 * console.log(reader.names()[1]) // rnn/multi_rnn_cell/cell_0/cudnn_compatible_lstm_cell/kernel
 * await reader.close()
 * ```
 */
export class CudnnLSTMSaveable extends CudnnOpaqueParamsSaveable {
  protected readonly rnnMode = 'lstm'
}

/**
 * `…/cudnn_compatible_gru_cell/{gates,candidate/input_projection,candidate/hidden_projection}/{kernel,bias}`.
 *
 * @example
 * ```ts
 * import { CudnnGRU, openBackend } from '@cudnn-rnn/rnn'
 * import { CudnnGRUSaveable } from '@cudnn-rnn/rnn/saveable'
 *
 * const backend = await openBackend('reference')
 * const gru = new CudnnGRU(backend, { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const params = gru.createParams({ seed: 1 })
 * const saveable = new CudnnGRUSaveable(gru.paramsToCanonical, gru.canonicalToParams, [params])
 * const keys = [...(await saveable.expected('default')).keys()]
 * console.log(keys.length, keys[0]) // 6 rnn/multi_rnn_cell/cell_0/cudnn_compatible_gru_cell/gates/kernel
 * ```
 */
export class CudnnGRUSaveable extends CudnnOpaqueParamsSaveable {
  protected readonly rnnMode = 'gru'
}

/**
 * `…/basic_rnn_cell/{kernel,bias}`.
 *
 * @example
 * ```ts
 * import { CudnnRNNTanh, openBackend } from '@cudnn-rnn/rnn'
 * import { CudnnRNNTanhSaveable } from '@cudnn-rnn/rnn/saveable'
 *
 * const backend = await openBackend('reference')
 * const rnn = new CudnnRNNTanh(backend, { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const params = rnn.createParams({ seed: 1 })
 * const options = { scope: 'decoder' }
 * const saveable = new CudnnRNNTanhSaveable(rnn.paramsToCanonical, rnn.canonicalToParams, [params], options)
 * console.log([...(await saveable.expected('default')).keys()][0])
 * // decoder/rnn/multi_rnn_cell/cell_0/basic_rnn_cell/kernel
 * ```
 */
export class CudnnRNNTanhSaveable extends CudnnOpaqueParamsSaveable {
  protected readonly rnnMode = 'rnn_tanh'
}

/**
 * `…/basic_rnn_cell/{kernel,bias}`.
 *
 * @example
 * ```ts
 * import { CudnnRNNRelu, openBackend } from '@cudnn-rnn/rnn'
 * import { CudnnRNNReluSaveable } from '@cudnn-rnn/rnn/saveable'
 *
 * const backend = await openBackend('reference')
 * const rnn = new CudnnRNNRelu(backend, { numLayers: 1, numUnits: 4, inputSize: 2 })
 * const params = rnn.createParams({ seed: 1 })
 * const saveable = new CudnnRNNReluSaveable(rnn.paramsToCanonical, rnn.canonicalToParams, [params])
 * console.log([...(await saveable.expected('default')).values()].map(({ shape }) => shape)) // [[6, 4], [4]]
 * ```
 */
export class CudnnRNNReluSaveable extends CudnnOpaqueParamsSaveable {
  protected readonly rnnMode = 'rnn_relu'
}
