import { checkedElsewhere, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import type {
  CanonicalParams,
  CellActivation,
  CellMode,
  Direction,
  FloatArray,
  NamedTensors,
  RnnDescriptor,
  Tensor,
} from '@cudnn-rnn/canonical'
import type { SharedParameters, UsedTensors } from './shared_parameters.js'

/** The framework whose names, gate order and layout a network's tensors follow. */
export const CONVENTIONS = [
  'pytorch',
  'keras',
  'keras-cudnn',
  'tensorflow',
  'flax',
  'onnx',
  'canonical',
  'equinox',
  'haste',
  'mlx',
] as const

export type Convention = (typeof CONVENTIONS)[number]

/** Inputs of a network that the file fixes (ONNX nodes). */
export interface FixedInputs {
  /** [L·D,B,H] */
  readonly initialH?: Tensor<FloatArray>
  /** [L·D,B,H] */
  readonly initialC?: Tensor<FloatArray>
  /** [B] */
  readonly sequenceLengths?: readonly number[]
}

/** The fields of networks and of cells. */
interface Imported {
  /** Its place in the file: the common prefix of its tensors, or a node's name; may be empty. */
  readonly name: string
  readonly convention: Convention
  /** True if a one-directional network reads the sequence from its end. */
  readonly reverse: boolean
  /** True if its framework gives the output of a reversed network in the order of reading, last step first (Keras). */
  readonly outputReversed?: true
  readonly inputs: FixedInputs
  /** Names of the tensors it was made of. */
  readonly tensorNames: readonly string[]
  /** Choices for details that the file does not specify, in sentences. */
  readonly notes: readonly string[]
}

/** A recurrent network of a file, as the models take it. */
export interface ImportedNetwork extends Imported {
  readonly descriptor: RnnDescriptor
  readonly canonical: CanonicalParams
}

/** Options of an imported cell: `new LSTMBlockCell(numUnits, options)`. */
export interface ImportedCellOptions {
  /** The imported bias includes it. */
  readonly forgetBias?: 0
  /** `LSTMBlockCell` only. */
  readonly usePeephole?: boolean
  /** `LSTMCell` only. */
  readonly usePeepholes?: boolean
  /** P; `LSTMCell` only. */
  readonly numProj?: number
  /** The candidate's; all but `LSTMBlockCell`. Default tanh. */
  readonly activation?: CellActivation
  /** Recurrent activation of `LSTMCell` and the GRUs, of the gates. Default sigmoid. */
  readonly recurrentActivation?: CellActivation
  /** State activation of `LSTMCell`, of the new cell state. Default `activation`. */
  readonly stateActivation?: CellActivation
  /** ONNX's `clip`. */
  readonly preactivationClip?: number
}

/**
 * A network that only one of TensorFlow's cells computes: peepholes, a GRU that resets before the product, ONNX's `clip`,
 * which bounds the inputs of activations, or other activations than the model's.
 */
export interface ImportedCell extends Imported {
  readonly cell: 'LSTMBlockCell' | 'LSTMCell' | 'GRUBlockCell' | 'CudnnCompatibleGRUCell' | 'BasicRNNCell'
  readonly options: ImportedCellOptions
  readonly inputSize: number
  readonly numUnits: number
  /** The cell's variables by TensorFlow's names. */
  readonly variables: NamedTensors
}

/** One way to read some tensors of a file; nothing is read before `result` is called. */
export interface Interpretation extends UsedTensors {
  readonly name: string
  readonly convention: Convention
  readonly cellMode: CellMode
  /** Present if the tensors do not determine it. */
  readonly direction?: Direction
  /** In words: framework, gates in order, sizes. */
  readonly summary: string
  /**
   * Beginnings of names, separator included, that only tensors of this network should have: others are a doubt. Absent
   * if the file itself describes the function, as a node of ONNX does.
   */
  readonly scopes?: readonly string[]
  /** A sentence on what else the tensors may be; the option `convention` settles it. */
  readonly doubt?: string
  readonly result: (shared: SharedParameters) => Promise<readonly (ImportedNetwork | ImportedCell)[]>
}

/** Rules of {@link InterpretationOptions}: the options are checked if a file leaves them open. */
export const INTERPRETATION_OPTIONS = {
  /** Decides if shapes cannot, as for a plain RNN, which is tanh or relu. */
  cellMode: checkedElsewhere<CellMode | undefined>(),
  /** Decides if names and shapes fit several frameworks. */
  convention: checkedElsewhere<Convention | undefined>(),
  /** Decides if two layers may look like two directions: the keys of TensorFlow 1.0 to 1.2, and numbered cells of Flax. */
  direction: checkedElsewhere<Direction | undefined>(),
  /** Added to the forget gate's bias of TensorFlow's cells, which add it at run time. Default 1, as theirs. */
  forgetBias: checkedElsewhere<number | undefined>(),
  /** ONNX: tensors that the graph leaves to its caller, by name, such as weights that are inputs. */
  inputs: checkedElsewhere<NamedTensors | undefined>(),
}

/** Options that decide between interpretations. */
export interface InterpretationOptions extends OptionsOf<typeof INTERPRETATION_OPTIONS> {}
