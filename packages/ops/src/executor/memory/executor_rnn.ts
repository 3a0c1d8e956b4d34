import { type CanonicalParams, Inspectable, type RnnDescriptor, type Summary } from '@cudnn-rnn/canonical'
import type { BackendTensor, Rnn, RnnForwardResult, RnnInputGradients, Tape, TensorLike } from '@cudnn-rnn/ops'
import { checkParams, type RnnForwardInputs, type RnnOutputGradients } from '../arguments/rnn_arguments.js'
import type { ExecutorMemory } from './executor_memory.js'
import type { LedgerEntry } from './ledger.js'
import { Lifetime } from './lifetime.js'
import { rnnSummary } from './summaries.js'

/** A network of an executor: its life, its place in the ledger and the check of its parameters. */
export abstract class ExecutorRnn<Memory extends ExecutorMemory<BackendTensor>> extends Inspectable implements Rnn {
  readonly descriptor: RnnDescriptor
  readonly paramsSize: number
  readonly memory: Memory
  protected readonly life: Lifetime
  readonly #entry: LedgerEntry

  constructor(memory: Memory, descriptor: RnnDescriptor, paramsSize: number) {
    super()
    this.memory = memory
    this.descriptor = descriptor
    this.paramsSize = paramsSize
    this.life = new Lifetime('rnn', memory.life)
    this.#entry = memory.ledger.enter('rnns', this)
  }

  abstract forward(inputs: RnnForwardInputs): Promise<RnnForwardResult>
  abstract backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients>
  abstract canonicalToParams(canonical: CanonicalParams): BackendTensor
  abstract paramsToCanonical(params: TensorLike, selection?: ReadonlySet<number>): Promise<CanonicalParams>
  abstract dropoutState(): Promise<Uint8Array>
  abstract restoreDropoutState(state: Uint8Array): void
  /** Frees what only the network has; called once. */
  protected free(): void {}

  dispose(): void {
    if (!this.life.end()) return
    this.free()
    this.#entry.leave()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected checkParams(action: string, params: TensorLike): TensorLike {
    this.life.check(action)
    return checkParams(action, this.memory, this.descriptor, this.paramsSize, params)
  }

  protected override summary(): Summary {
    return rnnSummary(this, this.life)
  }
}
