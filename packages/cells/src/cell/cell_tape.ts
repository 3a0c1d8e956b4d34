import { required } from '@cudnn-rnn/canonical/rules'
import { OpenTape } from '@cudnn-rnn/ops/executor'

/** Checks its argument, so that a refused call leaves the tape open, and returns the computation. */
type CheckedBackward<OutputGradients, InputGradients> = (gradients: OutputGradients) => () => InputGradients

/**
 * State from a training call of a cell, fused layer or wrapper to its one backward.
 *
 * It holds the variables as the forward saw them: `setVariables` between the two does not disturb it.
 *
 * @example
 * ```ts
 * import { BasicRNNCell } from '@cudnn-rnn/rnn/cells'
 *
 * const cell = new BasicRNNCell(4)
 * const { output, tape } = cell.call({ data: new Float32Array(2 * 3).fill(1), shape: [2, 3] }, cell.zeroState(2))
 * const { input, variables } = tape.gradients({ output })
 * console.log(tape.state, input.shape, variables.get('kernel')?.shape) // consumed [2, 3] [7, 4]
 * ```
 */
export class CellTape<OutputGradients, InputGradients> extends OpenTape {
  #backward: CheckedBackward<OutputGradients, InputGradients> | undefined

  constructor(backward: CheckedBackward<OutputGradients, InputGradients>) {
    super()
    this.#backward = backward
  }

  /**
   * Gradients of the loss with respect to the inputs, initial state and variables of the call, from those with respect to
   * its results; absent ones are zero. A refused call leaves the tape open.
   *
   * @throws RangeError `ERR_TAPE_CONSUMED`, `ERR_TAPE_DISPOSED`, `ERR_SHAPE`; TypeError `ERR_DTYPE`, `ERR_STATE_STRUCTURE`
   */
  gradients(outputGradients: OutputGradients): InputGradients {
    this.checkOpen()
    const compute = required(this.#backward, 'an open tape has its backward pass')(outputGradients)
    // Before it computes: a backward that fails half-way, as memory runs out, has changed the values of the forward.
    this.consume()
    return compute()
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
  backward: CheckedBackward<OutputGradients, InputGradients>,
): TapeWhen<Training, CellTape<OutputGradients, InputGradients>> {
  const tape = training === false ? undefined : new CellTape(backward)
  return tape as TapeWhen<Training, CellTape<OutputGradients, InputGradients>>
}
