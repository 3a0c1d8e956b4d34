import {
  type CellActivation,
  type CellMode,
  describeValue,
  type KerasVariant,
  CELL_ACTIVATIONS,
  type CellActivationName,
} from '@cudnn-rnn/canonical'
import type { StoredTensor } from '../stored_tensor.js'
import type { OtherActivations } from './imported_cells.js'
import type { KerasCell, KerasDirection } from './keras_description.js'

export interface KerasFunction {
  readonly cellMode: CellMode
  readonly variant: KerasVariant
  /** A GRU whose reset gate acts before the recurrent product: `reset_after=False`. */
  readonly resetBefore: boolean
  readonly activations: OtherActivations
}

const MODES: ReadonlyMap<string, 'lstm' | 'gru' | 'plain'> = new Map([
  ['LSTM', 'lstm'],
  ['LSTMCell', 'lstm'],
  ['CuDNNLSTM', 'lstm'],
  ['GRU', 'gru'],
  ['GRUCell', 'gru'],
  ['CuDNNGRU', 'gru'],
  ['SimpleRNN', 'plain'],
  ['SimpleRNNCell', 'plain'],
])

/**
 * The function of a cell, or in words why no model and no cell computes it.
 *
 * @param major version of Keras that wrote the file.
 */
export function functionOf(
  { className, config }: KerasCell,
  bias: StoredTensor | undefined,
  major: number | undefined,
): KerasFunction | string {
  const kind = MODES.get(className)
  if (kind === undefined) return `its cell ${className} is not Keras' own, and its function is not in the file`
  if (className.startsWith('CuDNN')) {
    return { cellMode: kind === 'gru' ? 'gru' : 'lstm', variant: 'cudnn', resetBefore: false, activations: {} }
  }
  const common = { variant: 'plain', resetBefore: false } as const
  const activation = kerasActivation(
    'activation',
    config['activation'] === undefined ? 'tanh' : config['activation'],
    major,
  )
  if (isRefusal(activation)) return activation.refusal
  if (kind === 'plain') {
    if (activation === 'relu') return { ...common, cellMode: 'rnn_relu', activations: {} }
    return { ...common, cellMode: 'rnn_tanh', activations: activation === 'tanh' ? {} : { activation } }
  }
  const given = config['recurrent_activation'] === undefined && major === 3 ? 'sigmoid' : config['recurrent_activation']
  if (given === undefined) return MOVED_DEFAULT
  const recurrentActivation = kerasActivation('recurrent_activation', given, major)
  if (isRefusal(recurrentActivation)) return recurrentActivation.refusal
  const activations = {
    ...(activation !== 'tanh' && { activation }),
    ...(recurrentActivation !== 'sigmoid' && { recurrentActivation }),
  }
  if (kind === 'lstm') return { ...common, cellMode: 'lstm', activations }
  // Keras before 2.1.3 has no such option and resets before; Keras 3 resets after if it is left out.
  const resetAfter = config['reset_after'] ?? (bias === undefined ? major === 3 : bias.shape.length === 2)
  return { ...common, cellMode: 'gru', resetBefore: resetAfter !== true, activations }
}

const MOVED_DEFAULT =
  'recurrent_activation must be in the description: its default is hard_sigmoid before Keras 2.3 and sigmoid since then'

function isRefusal(found: CellActivation | { readonly refusal: string }): found is { readonly refusal: string } {
  return typeof found === 'object' && 'refusal' in found
}

/** In words why two directions do not make one bidirectional network. */
export function unlikeDirections(
  [forward, backward]: readonly KerasDirection[],
  mergeMode: unknown,
): string | undefined {
  if (forward === undefined || backward === undefined) return undefined
  if (mergeMode !== 'concat') return wrongOption('merge_mode', 'concat', mergeMode)
  if (forward.cells.length > 1 || backward.cells.length > 1) {
    return 'it has StackedRNNCells in each direction, of which neither feeds the other'
  }
  if (forward.config['go_backwards'] === true || backward.config['go_backwards'] !== true) {
    return 'its forward layer must not go_backwards, and its backward layer must'
  }
  return undefined
}

function wrongOption(option: string, rule: string, value: unknown): string {
  return `${option} must be ${rule}: current value is ${describeValue(value)}. No weights make the two equal; importKeras merges sums, means and products`
}

/** Notes about the layer for the user of the network. */
export function settingNotes({ config, cells }: KerasDirection): string[] {
  const notes: string[] = []
  if (config['stateful'] === true) {
    notes.push(
      'The layer is stateful: each batch starts from the final states of the previous one. Pass outputH (and outputC) on as inputH (and inputC), or use a stream.',
    )
  }
  const drops = ['dropout', 'recurrent_dropout'].filter((option) => {
    return cells.some((cell) => typeof cell.config[option] === 'number' && cell.config[option] !== 0)
  })
  if (drops.length > 0) notes.push(`In training Keras applies ${drops.join(' and ')}, which the network does not have.`)
  return notes
}

/** Other names, and parameters that are not the defaults here. */
const KERAS_NAMES: ReadonlyMap<string, CellActivation> = new Map(
  Object.entries<CellActivation>({
    celu: 'elu',
    hard_swish: 'hard_silu',
    leaky_relu: { name: 'leaky_relu', alpha: 0.2 },
    swish: 'silu',
  }),
)
/** Functions of ONNX that Keras does not have under these names. */
const FOREIGN: ReadonlySet<string> = new Set<CellActivationName>(['affine', 'scaled_tanh', 'thresholded_relu'])

/**
 * The function that an option of a Keras layer names, or the rule for it in words.
 *
 * @param value of the option; null is `linear`.
 * @param major version of Keras that wrote the file: `hard_sigmoid` is another function since Keras 3.
 */
function kerasActivation(
  option: string,
  value: unknown,
  major: number | undefined,
): CellActivation | { readonly refusal: string } {
  const name = value ?? 'linear'
  if (name === 'hard_sigmoid' && major !== 2) {
    if (major === 3) return { name, alpha: 1 / 6 }
    return {
      refusal: `${option} must not be hard_sigmoid in a file without a version: it is x/6 + 0.5 in Keras 3 and 0.2·x + 0.5 in older ones`,
    }
  }
  const renamed = typeof name === 'string' ? KERAS_NAMES.get(name) : undefined
  if (renamed !== undefined) return renamed
  if (typeof name === 'string' && Object.hasOwn(CELL_ACTIVATIONS, name) && !FOREIGN.has(name)) {
    return name as CellActivationName
  }
  const known = [...Object.keys(CELL_ACTIVATIONS), ...KERAS_NAMES.keys()].filter((each) => !FOREIGN.has(each))
  const words = typeof name === 'string' ? JSON.stringify(name) : 'a custom function'
  return { refusal: `${option} must be one of ${[...new Set(known)].sort().join(', ')}: current value is ${words}` }
}
