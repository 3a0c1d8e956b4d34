import type { OptimizerRule } from '@cudnn-rnn/ops'
import type { CellMode, Direction, InputMode } from '@cudnn-rnn/canonical'
import type { RowName } from '@cudnn-rnn/ops/executor'

/**
 * A program over the public API, as data: the same statements run on every executor. Objects are named by how many of
 * their kind were made since (0 is the newest), modulo the number there is, so a program from which statements were
 * taken away is a program still; a statement for which there is nothing does nothing. From {@link ANY} on an index names
 * one of all of them; below, one that is alive and fits.
 */
export interface Program {
  readonly dtype: 'float32' | 'float64'
  /** Threads of executors that have them. */
  readonly threads: number
  /** Drop probability of every network; above 0 the executors' masks differ by kind. */
  readonly dropout: number
  /** Reads the results of each statement immediately; otherwise all of them at the end, after all queued work. */
  readonly eager: boolean
  /** Compares everything alive before and after statements that fail. */
  readonly watched: boolean
  /** The order in which remaining objects are disposed at the end. */
  readonly ending: number
  readonly statements: readonly Statement[]
}

/** The first index that may name a disposed object or one of another network. */
export const ANY = 14

/** The fault of an argument. */
export const FAULTS = [
  'rank',
  'size',
  'batch',
  'empty',
  'otherFloat',
  'integers',
  'array',
  'nothing',
  'unfilled',
  'negative',
  'disposed',
  'foreign',
] as const
export type Fault = (typeof FAULTS)[number]

/** How an argument's tensor is made; its shape follows from the network and the pass. */
export interface Argument {
  /** A host tensor, or one of the executor. */
  readonly form: 'host' | 'own'
  /** Which values. */
  readonly fill: number
  /** Elements that are replaced. */
  readonly extremes?: readonly Extreme[] | undefined
  readonly fault?: Fault | undefined
}

/** Values at the edges of floating-point arithmetic, by names that JSON can hold. */
export const EXTREME_VALUES = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
  // The product of two is finite in float32; their sum has the digits of one of them.
  huge: 1e15,
  '-huge': -1e12,
} as const

/** An extreme value, and its index modulo the number of elements. */
export interface Extreme {
  readonly value: keyof typeof EXTREME_VALUES
  readonly at: number
}

export interface ModelOptionsDrawn {
  readonly cell: CellMode
  readonly numLayers: number
  readonly numUnits: number
  readonly inputSize: number
  readonly inputMode: InputMode
  readonly direction: Direction
  readonly seed: number
  readonly numProj?: number | undefined
  readonly cellClip?: number | undefined
}

/** T, B and the lengths of rows (modulo T+1), or none. */
export interface Pass {
  readonly time: number
  readonly batch: number
  readonly lengths?: readonly number[] | undefined
}

/** Initial state: absent, new, or the final state of an earlier call if its shape fits. */
export type State = 'zeros' | 'carried' | Argument

export type Update = 'assign' | 'accumulate' | 'clip' | OptimizerRule

/** Objects that a program creates and must dispose. */
export const KINDS = ['model', 'opaque', 'tensor', 'tape', 'stream', 'optimizer'] as const
export type Kind = (typeof KINDS)[number]

export interface CallStatement extends Pass {
  readonly op: 'call'
  readonly model: number
  readonly params: number
  readonly input: Argument
  readonly h: State
  readonly c: State
  readonly training: boolean
  /** A wrong option. */
  readonly fault?: 'lengthTooLong' | 'lengthMissing' | 'lengthNaN' | 'unknownOption' | 'otherModel' | undefined
  /** How often, one call after another. */
  readonly times: number
}

interface GradientsStatement {
  readonly op: 'gradients'
  readonly tape: number
  readonly output?: Argument | undefined
  readonly h?: Argument | undefined
  readonly c?: Argument | undefined
  /** Uses the newest model instead of the one that made the tape. */
  readonly elsewhere: boolean
}

interface TrainStatement extends Pass {
  readonly op: 'train'
  readonly optimizer: number
  readonly batches: number
  readonly times: number
  readonly maxNorm?: number | undefined
}

export type Statement =
  | ({ readonly op: 'model' } & ModelOptionsDrawn)
  | {
      readonly op: 'params'
      readonly model: number
      readonly seed: number
      readonly kernel: 'glorot_uniform' | 'orthogonal' | number
      readonly bias: number
      readonly forgetBias?: number | undefined
    }
  | { readonly op: 'slot'; readonly model: number }
  | CallStatement
  | GradientsStatement
  | { readonly op: 'stream'; readonly model: number; readonly params: number; readonly batch: number }
  | { readonly op: 'step'; readonly stream: number; readonly time: number; readonly input: Argument }
  | { readonly op: 'reset'; readonly stream: number; readonly rows?: readonly number[] | undefined }
  | { readonly op: 'streamState'; readonly stream: number }
  | { readonly op: 'restoreStream'; readonly stream: number; readonly state: number }
  | { readonly op: 'tensor'; readonly shape: readonly number[]; readonly argument: Argument }
  | { readonly op: 'read'; readonly kind: 'opaque' | 'tensor'; readonly index: number }
  | { readonly op: 'export'; readonly model: number; readonly params: number }
  | {
      readonly op: 'import'
      readonly model: number
      readonly canonical: number
      /** An element of all canonical tensors, one after another, that is replaced. */
      readonly extreme?: Extreme | undefined
      readonly fault?: Fault | undefined
    }
  | {
      readonly op: 'update'
      readonly kind: 'opaque' | 'tensor'
      readonly rule: Update
      readonly target: number
      readonly source: number | Argument
      readonly rate: number
    }
  | {
      readonly op: 'optimizer'
      readonly rule: 'sgd' | 'momentum' | 'adam' | 'rmsProp' | 'adagrad'
      readonly tensorflow: boolean
      readonly params: readonly number[]
      readonly weightDecay: number
    }
  | {
      readonly op: 'apply'
      readonly optimizer: number
      readonly gradients: readonly number[]
      readonly rate: number
      readonly foreign: boolean
    }
  | TrainStatement
  | { readonly op: 'dropoutState'; readonly model: number }
  | { readonly op: 'restoreDropout'; readonly model: number; readonly state: number }
  | { readonly op: 'save'; readonly params: number }
  | { readonly op: 'restore'; readonly params: number; readonly checkpoint: number }
  | {
      readonly op: 'operation'
      readonly name: RowName
      readonly sizes: readonly [number, number, number]
      readonly argument: Argument
    }
  | { readonly op: 'norm'; readonly tensors: readonly number[]; readonly limit?: number | undefined }
  | { readonly op: 'dispose'; readonly kind: Kind; readonly index: number }
  | { readonly op: 'closeExecutor' }
  /** Starts all before awaiting any. */
  | { readonly op: 'together'; readonly body: readonly Statement[] }
  /** Like one step of `TrainingSteps`, if the executor has them. */
  | { readonly op: 'trainingStep'; readonly body: readonly Statement[] }

/** Statements of one kind. */
export type StatementOf<Op extends Statement['op']> = Extract<Statement, { readonly op: Op }>
