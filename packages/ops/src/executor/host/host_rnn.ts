import { type CanonicalParams, type FloatArray, layoutKey } from '@cudnn-rnn/canonical'
import type { TensorLike } from '@cudnn-rnn/ops'
import { dropoutPositionOf, dropoutStateOf } from '../arguments/dropout_position.js'
import { ExecutorRnn } from '../memory/executor_rnn.js'
import type { HostMemory } from './host_memory.js'
import { checkStream, HostStepper, type StreamKernel } from './host_stepper.js'
import type { HostTensor } from './host_tensor.js'

/** A network whose tensors are in host memory: the position of its dropout generator, and everything but its arithmetic. */
export abstract class HostRnn extends ExecutorRnn<HostMemory> {
  /** Words of the dropout generator drawn so far. */
  protected dropoutPosition = 0

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
}
