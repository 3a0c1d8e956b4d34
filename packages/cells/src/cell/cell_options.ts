import {
  checkArguments,
  checkOptions,
  integerFrom,
  NUMBER,
  nullable,
  type OptionRules,
  type OptionsOf,
  oneOf,
  optional,
  TEXT,
  where,
} from '@cudnn-rnn/canonical/rules'
import { ACTIVATION } from './activation.js'

/** H, I, P, B. */
export const SIZE = integerFrom(1)

/** A bound that null turns off. */
export const CLIP = nullable(where(NUMBER, 'a number > 0', (value: number) => value > 0))

export const CELL_OPTIONS = {
  /** Scope of the variables in a checkpoint. Default: TensorFlow's for this class. */
  name: optional(TEXT),
  /** Default `float32`. */
  dtype: optional(oneOf(['float32', 'float64'])),
}

/** Options of every cell and fused layer. */
export interface CellOptions extends OptionsOf<typeof CELL_OPTIONS> {}

export const PREACTIVATION_CLIP = {
  /** Bound of the inputs of the gates' and the candidate's activations, > 0. Default null, none. */
  preactivationClip: CLIP,
}

/** Options of ONNX's recurrent operators that TensorFlow's cells lack. */
export interface PreactivationClip extends OptionsOf<typeof PREACTIVATION_CLIP> {}

export const GATE_ACTIVATIONS = {
  /** Activation of the candidate. Default `tanh`. */
  activation: ACTIVATION,
  /** Activation of the gates. Default `sigmoid`. */
  recurrentActivation: ACTIVATION,
}

/** Options of Keras' and ONNX's layers that most of TensorFlow's cells lack. */
export interface GateActivations extends OptionsOf<typeof GATE_ACTIVATIONS> {}

export const GRU_CELL_OPTIONS = { ...CELL_OPTIONS, ...PREACTIVATION_CLIP, ...GATE_ACTIVATIONS }

/** Options of {@link GRUBlockCell} and {@link CudnnCompatibleGRUCell}. */
export interface GRUCellOptions extends CellOptions, PreactivationClip, GateActivations {}

/**
 * Checks numUnits and the options.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`; RangeError `ERR_INVALID_OPTION`
 */
export function checkCellOptions<Options extends CellOptions>(
  className: string,
  numUnits: number,
  options: Options,
  rules: OptionRules<NoInfer<Options>>,
): Options {
  const action = `build ${className}`
  checkArguments(action, { numUnits }, { numUnits: SIZE })
  return checkOptions(action, options, rules)
}

/** A clip that was checked, as the Infinity that clips nothing if it is null. */
export function clipBound(clip: number | null | undefined): number {
  return clip ?? Number.POSITIVE_INFINITY
}
