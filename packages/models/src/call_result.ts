import type { BackendTensor, Tape, TensorLike } from '@cudnn-rnn/ops'

/** Result of every model. `Training` is the literal type of `isTraining`: the result of an inference has no tape. */
export type CallResult<Training extends boolean = true> = {
  /** [T,B,D·H], zero past each row's length. */
  readonly output: BackendTensor
  /** [L·D,B,H], the state at each row's last valid step. */
  readonly outputH: BackendTensor
  /** For exactly one `gradients()`; dispose it where none follows. */
  readonly tape: Training extends true ? Tape : Training extends false ? undefined : Tape | undefined
}

/**
 * What `gradients` takes as a tape: also the tape of a call whose `isTraining` was a variable, which may be undefined and is
 * then refused at run time. The undefined of a call with `isTraining: false` does not compile.
 */
export type GivenTape<Given extends Tape | undefined> = Given & ([Given] extends [undefined] ? never : unknown)

/** {@link CallResult} with the cell state. With numProj, `output` and `outputH` have P columns. */
export type LSTMCallResult<Training extends boolean = true> = CallResult<Training> & {
  /** [L·D,B,H] */
  readonly outputC: BackendTensor
}

/** Gradients of the loss with respect to a call's results; any may be left out. */
export interface OutputGradients {
  readonly output?: TensorLike | undefined
  readonly outputH?: TensorLike | undefined
}

export interface LSTMOutputGradients extends OutputGradients {
  readonly outputC?: TensorLike | undefined
}

/** Gradients of the loss with respect to a call's arguments. */
export type InputGradients = {
  readonly input: BackendTensor
  readonly inputH: BackendTensor
  /** Same opaque layout as the parameters. */
  readonly params: BackendTensor
}

export type LSTMInputGradients = InputGradients & {
  readonly inputC: BackendTensor
}
