import type { Summary } from '@cudnn-rnn/canonical'
import { codedRangeError, codedTypeError, required } from '@cudnn-rnn/canonical/rules'
import { isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import type { VersionedTensor } from './executor_memory.js'
import type { Ledger, LedgerEntry } from './ledger.js'
import { OpenTape } from './open_tape.js'

/** State from the forward of a network to its backward. */
export interface RnnTapeRecord<Contents> {
  /** The network that ran the forward: no other may run the backward. */
  readonly rnn: object
  readonly contents: Contents
  /** Memory that is the tape's own. */
  readonly bytes: number
  readonly versions: OperandVersions
}

/**
 * The tape of one training forward of a network, in the ledger while it is open. Each executor has its own class, by
 * which it passes to its tapes, and overrides `free` if the contents need an explicit release.
 */
export class RnnTape<Contents> extends OpenTape {
  readonly #entry: LedgerEntry
  #record: RnnTapeRecord<Contents> | undefined

  constructor(ledger: Ledger, record: RnnTapeRecord<Contents>) {
    super()
    this.#record = record
    this.#entry = ledger.enter('tapes', this, record.bytes)
  }

  /**
   * The contents, for a backward of `rnn`.
   *
   * @throws as `checkOpen`; RangeError `ERR_TAPE_STALE` for overwritten operands
   * @throws TypeError `ERR_TAPE_FOREIGN` if another network ran the forward
   */
  contentsFor(rnn: object): Contents {
    this.checkOpen()
    const record = this.#openRecord
    record.versions.check()
    if (record.rnn !== rnn) {
      throw codedTypeError(
        'ERR_TAPE_FOREIGN',
        'Cannot run backward as the tape belongs to another network. Pass it to the model that returned it.',
      )
    }
    return record.contents
  }

  get #openRecord() {
    return required(this.#record, 'an open tape has its record until the release')
  }

  protected override summary(): Summary {
    return { ...super.summary(), bytes: this.#record?.bytes }
  }

  /** Frees the contents; called once. */
  protected free(_contents: Contents): void {}

  protected override release(): void {
    const { contents } = this.#openRecord
    this.#record = undefined
    this.#entry.leave()
    this.free(contents)
  }
}

/** The versions of the operands that a backward reads again. */
export class OperandVersions {
  readonly #noted: (readonly [string, VersionedTensor, number])[] = []

  /** @param operands by their names in the public API; host tensors are the executor's to copy. */
  constructor(operands: Readonly<Record<string, TensorLike | null | undefined>>) {
    for (const name in operands) {
      const operand = operands[name]
      if (isBackendTensor(operand)) this.note(name, operand as VersionedTensor)
    }
  }

  note(name: string, tensor: VersionedTensor): void {
    this.#noted.push([name, tensor, tensor.version])
  }

  /** Throws RangeError `ERR_TAPE_STALE` when one was overwritten since. */
  check(): void {
    for (const [name, tensor, version] of this.#noted) {
      if (tensor.version === version) continue
      throw codedRangeError(
        'ERR_TAPE_STALE',
        `Cannot run backward as ${name} must be as the forward left it: it was overwritten since. Call gradients() before the update.`,
        { argument: name },
      )
    }
  }
}
