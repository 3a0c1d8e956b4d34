import {
  checkOptions,
  codedRangeError,
  FINITE,
  integerIn,
  invalidOption,
  keyOf,
  type OptionsOf,
  oneOf,
  optional,
  SHARE,
  where,
} from '@cudnn-rnn/canonical/rules'
import { CELL_MODES, type CellMode } from './cell_mode.js'

export const INPUT_MODES = ['linear_input', 'skip_input', 'auto_select'] as const
export const DIRECTIONS = ['unidirectional', 'bidirectional'] as const
export const BIAS_MODES = ['double', 'single_input', 'single_recurrent', 'none'] as const

/** `auto_select` means `skip_input` when I = H and `linear_input` otherwise, as TensorFlow's kernel resolves it. */
export type InputMode = (typeof INPUT_MODES)[number]
export type Direction = (typeof DIRECTIONS)[number]
/** Which of the two biases of a gate exist; the models always use `double`. */
export type BiasMode = (typeof BIAS_MODES)[number]

/** A recurrent network, validated once and frozen: everything that decides sizes, layout and equations. */
export interface RnnDescriptor {
  readonly cellMode: CellMode
  readonly numLayers: number
  readonly numUnits: number
  readonly inputSize: number
  /** Resolved: never `auto_select`. */
  readonly inputMode: Exclude<InputMode, 'auto_select'>
  readonly direction: Direction
  readonly numProj: number | undefined
  readonly biasMode: BiasMode
  readonly cellClip: number | undefined
  readonly dropout: number
  readonly seed: number
}

/** cuDNN's sizes are int32; the element count of the whole buffer is checked in flat_layout.ts. */
const SIZE = integerIn(1, 0x7fffffff)
const OPTIONS = {
  /** The equations of the cell. */
  cellMode: keyOf(CELL_MODES),
  /** L, layers stacked; at least 1. */
  numLayers: SIZE,
  /** H, units of one layer in one direction. */
  numUnits: SIZE,
  /** I, size of one input vector. */
  inputSize: SIZE,
  /**
   * Default `auto_select`: skip_input when I = H, else linear_input. A network of skip_input has no input matrices, and no
   * other framework has such a network: request `linear_input` to export it.
   */
  inputMode: optional(oneOf(INPUT_MODES)),
  /** Default `unidirectional`. */
  direction: optional(oneOf(DIRECTIONS)),
  /** LSTM only: P, recurrent projection; h and output then have P < H columns. Default none, and P = H means none. */
  numProj: optional(SIZE),
  /** Default `double`. */
  biasMode: optional(oneOf(BIAS_MODES)),
  /** LSTM only: the cell state is clipped to ±cellClip, the initial one included. Default none. */
  cellClip: optional(where(FINITE, 'a finite number > 0', (clip) => clip > 0)),
  /** Drop probability 0..1 between layers: of every layer's output but the last's, in training only. Default 0. */
  dropout: optional(SHARE),
  /** Seed of the dropout masks; an integer ≥ 0. Default 0. */
  seed: optional(integerIn(0, Number.MAX_SAFE_INTEGER)),
}

/** Options of {@link createRnnDescriptor}. Absent options take the defaults named there. */
export interface RnnOptions extends OptionsOf<typeof OPTIONS> {}

/**
 * Validates `options` and returns the frozen descriptor that everything else takes.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION` (with the nearest known name), `ERR_INVALID_OPTION_TYPE`
 * @throws RangeError `ERR_INVALID_OPTION`, `ERR_SKIP_INPUT_SIZE` (skip_input with I ≠ H), `ERR_NOT_LSTM` (numProj or
 *   cellClip on another cell)
 * @example
 * ```ts
 * import { createRnnDescriptor } from '@cudnn-rnn/rnn/canonical'
 * const descriptor = createRnnDescriptor({ cellMode: 'lstm', numLayers: 2, numUnits: 128, inputSize: 64 })
 * console.log(descriptor.inputMode) // linear_input: the input size is not numUnits
 * ```
 */
export function createRnnDescriptor(options: RnnOptions): RnnDescriptor {
  const given = checkOptions('build RNN descriptor', options, OPTIONS)
  const { cellMode, numLayers, numUnits, inputSize, numProj, cellClip } = given
  const { inputMode = 'auto_select', direction = 'unidirectional', biasMode = 'double', dropout = 0, seed = 0 } = given

  if (inputMode === 'skip_input' && inputSize !== numUnits) {
    throw codedRangeError(
      'ERR_SKIP_INPUT_SIZE',
      `Cannot build RNN descriptor as skip_input feeds the input to every gate unchanged and so needs inputSize = numUnits: current values are ${inputSize} and ${numUnits}. Use linear_input or auto_select.`,
      { inputSize, numUnits },
    )
  }
  if (cellMode !== 'lstm') {
    for (const [name, value] of Object.entries({ numProj, cellClip })) {
      if (value === undefined) continue
      throw codedRangeError(
        'ERR_NOT_LSTM',
        `Cannot build RNN descriptor as ${name} exists for lstm only: current cellMode is ${cellMode}`,
        { option: name, value, cellMode },
      )
    }
  }
  if (numProj !== undefined && numProj > numUnits) {
    throw invalidOption('build RNN descriptor', 'numProj', `at most numUnits (${numUnits})`, numProj)
  }

  const descriptor: RnnDescriptor = Object.freeze({
    cellMode,
    numLayers,
    numUnits,
    inputSize,
    inputMode: resolveInputMode(inputMode, inputSize, numUnits),
    direction,
    // cuDNN: projSize = hiddenSize means no projection.
    numProj: numProj === numUnits ? undefined : numProj,
    biasMode,
    cellClip,
    dropout,
    seed,
  })
  known.add(descriptor)
  return descriptor
}

/** Every descriptor made here: validated, and frozen since. */
const known = new WeakSet<object>()

/**
 * Checks that `descriptor` is one that {@link createRnnDescriptor} made, or could have: a copy, or one read from JSON.
 *
 * @throws as {@link createRnnDescriptor}
 * @example
 * ```ts
 * import { checkDescriptor, createRnnDescriptor, hasErrorCode } from '@cudnn-rnn/rnn/canonical'
 *
 * const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 4, inputSize: 3 })
 * checkDescriptor(JSON.parse(JSON.stringify(descriptor)))
 * try {
 *   checkDescriptor({ ...descriptor, numUnits: -4 })
 * } catch (error) {
 *   console.log(hasErrorCode(error, 'ERR_INVALID_OPTION')) // true
 * }
 * ```
 */
export function checkDescriptor(descriptor: RnnDescriptor): void {
  if (typeof descriptor === 'object' && descriptor !== null && known.has(descriptor)) return
  createRnnDescriptor(descriptor)
}

function resolveInputMode(mode: InputMode, inputSize: number, numUnits: number): RnnDescriptor['inputMode'] {
  if (mode !== 'auto_select') return mode
  return inputSize === numUnits ? 'skip_input' : 'linear_input'
}
