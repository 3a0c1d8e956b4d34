import { required } from '@cudnn-rnn/arguments'
import { OpenTape } from '@cudnn-rnn/executor-kit'

/**
 * State from a training call of a cell, fused layer or wrapper to its one backward.
 *
 * It holds the variables as the forward saw them: `setVariables` between the two does not disturb it.
 */
export class CellTape<OutputGradients, InputGradients> extends OpenTape {
  #backward: ((gradients: OutputGradients) => InputGradients) | undefined

  /** @param backward checks its argument before it computes, so that a refused call leaves the tape open. */
  constructor(backward: (gradients: OutputGradients) => InputGradients) {
    super()
    this.#backward = backward
  }

  /**
   * Gradients of the loss with respect to the inputs, initial state and variables of the call, from those with respect to
   * its results; absent ones are zero.
   *
   * @throws RangeError `ERR_TAPE_CONSUMED`, `ERR_TAPE_DISPOSED`, `ERR_SHAPE`; TypeError `ERR_DTYPE`, `ERR_STATE_STRUCTURE`
   */
  gradients(outputGradients: OutputGradients): InputGradients {
    this.checkOpen()
    const inputGradients = required(this.#backward, 'an open tape has its backward pass')(outputGradients)
    this.consume()
    return inputGradients
  }

  protected override release(): void {
    this.#backward = undefined
  }
}

/** A tape exactly where `training` was true. */
export type TapeWhen<Training extends boolean, Tape> = Training extends true
  ? Tape
  : Training extends false
    ? undefined
    : Tape | undefined

/** The tape of a training call; without training, `backward` and all it keeps is forgotten. */
export function tapeWhen<Training extends boolean, OutputGradients, InputGradients>(
  training: Training | undefined,
  backward: (gradients: OutputGradients) => InputGradients,
): TapeWhen<Training, CellTape<OutputGradients, InputGradients>> {
  const tape = training === false ? undefined : new CellTape(backward)
  return tape as TapeWhen<Training, CellTape<OutputGradients, InputGradients>>
}
