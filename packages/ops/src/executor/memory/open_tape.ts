import { Inspectable, type Summary } from '@cudnn-rnn/canonical'
import { codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { Tape } from '@cudnn-rnn/ops'

/**
 * The life of a tape: open until its one backward consumes it or `dispose()` ends it. Executors extend it with the data that
 * they keep; `release` frees that.
 */
export abstract class OpenTape extends Inspectable implements Tape {
  #state: Tape['state'] = 'open'

  get state(): Tape['state'] {
    return this.#state
  }

  protected override summary(): Summary {
    return { kind: 'Tape', state: this.#state }
  }

  /** Frees the tape's contents; called once. */
  protected abstract release(): void

  /** Throws RangeError `ERR_TAPE_CONSUMED` or `ERR_TAPE_DISPOSED` unless the tape is open. */
  checkOpen(): void {
    if (this.#state === 'consumed') {
      throw codedRangeError(
        'ERR_TAPE_CONSUMED',
        'Cannot run backward as a tape serves exactly one: this one was used before. Run forward again.',
      )
    }
    if (this.#state === 'disposed') {
      throw codedRangeError('ERR_TAPE_DISPOSED', 'Cannot run backward as the tape was disposed. Run forward again.')
    }
  }

  /** Marks the tape used and frees its contents. */
  consume(): void {
    this.checkOpen()
    this.#state = 'consumed'
    this.release()
  }

  dispose(): void {
    if (this.#state !== 'open') return
    this.#state = 'disposed'
    this.release()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}

/**
 * Checks that `tape` is an `OwnTape`, that is, of this executor and not undefined (the result of an inference).
 *
 * @throws TypeError `ERR_NO_TAPE` for undefined, `ERR_TAPE_FOREIGN` for anything else
 */
export function checkOwnTape<OwnTape extends Tape>(
  tape: Tape | undefined,
  ownTape: abstract new (...args: never[]) => OwnTape,
): asserts tape is OwnTape {
  if (tape === undefined || tape === null) {
    throw codedTypeError(
      'ERR_NO_TAPE',
      'Cannot run backward as the tape is missing: only a forward with isTraining true returns one.',
    )
  }
  if (!(tape instanceof ownTape)) {
    throw codedTypeError(
      'ERR_TAPE_FOREIGN',
      'Cannot run backward as the tape belongs to another network or executor. Pass it to the model that returned it.',
    )
  }
}
