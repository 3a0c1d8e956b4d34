import { type CanonicalParams, type FloatArray, Inspectable, layoutKey } from '@cudnn-rnn/canonical'
import type { RnnDescriptor, Summary } from '@cudnn-rnn/canonical'
import type { Rnn, RnnForwardResult, RnnInputGradients, Tape, TensorLike } from '@cudnn-rnn/ops'
import { dropoutPositionOf, dropoutStateOf } from '../arguments/dropout_position.js'
import { checkParams, type RnnForwardInputs, type RnnOutputGradients } from '../arguments/rnn_arguments.js'
import type { LedgerEntry } from '../memory/ledger.js'
import { Lifetime } from '../memory/lifetime.js'
import { rnnSummary } from '../memory/summaries.js'
import type { HostMemory } from './host_memory.js'
import { checkStream, HostStepper, type StreamKernel } from './host_stepper.js'
import type { HostTensor } from './host_tensor.js'

/** A network whose tensors are in host memory: its life, the position of its dropout generator, and everything but its arithmetic. */
export abstract class HostRnn extends Inspectable implements Rnn {
  readonly descriptor: RnnDescriptor
  readonly paramsSize: number
  readonly memory: HostMemory
  protected readonly life: Lifetime
  /** Words of the dropout generator drawn so far. */
  protected dropoutPosition = 0
  readonly #entry: LedgerEntry

  constructor(memory: HostMemory, descriptor: RnnDescriptor, paramsSize: number) {
    super()
    this.memory = memory
    this.descriptor = descriptor
    this.paramsSize = paramsSize
    this.life = new Lifetime('rnn', memory.life)
    this.#entry = memory.ledger.enter('rnns', this)
  }

  abstract forward(inputs: RnnForwardInputs): Promise<RnnForwardResult>
  abstract backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients>
  abstract paramsToCanonical(params: TensorLike, selection?: ReadonlySet<number>): Promise<CanonicalParams>
  /** Copies canonical tensors into the opaque buffer `params`. */
  protected abstract pack(canonical: CanonicalParams, params: FloatArray): FloatArray
  /** A stream over parameters and a batch that were checked. */
  protected abstract stream(params: TensorLike, batch: number): StreamKernel

  canonicalToParams(canonical: CanonicalParams): HostTensor {
    this.life.check('convert canonical parameters')
    const { memory, paramsSize } = this
    return memory.create([paramsSize], this.pack(canonical, memory.allocate(paramsSize)), layoutKey(this.descriptor))
  }

  stepper(params: TensorLike, batch: number): HostStepper {
    const given = this.checkParams('open a stream', params)
    checkStream(this.descriptor, batch)
    const { memory, life, descriptor } = this
    return new HostStepper({ memory, life, descriptor, params: given }, batch, this.stream(given, batch))
  }

  async dropoutState(): Promise<Uint8Array> {
    this.life.check('read the dropout state')
    return dropoutStateOf(this.dropoutPosition)
  }

  restoreDropoutState(state: Uint8Array): void {
    this.life.check('restore the dropout state')
    this.dropoutPosition = dropoutPositionOf(state)
  }

  dispose(): void {
    if (this.life.end()) this.#entry.leave()
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
