import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import { RnnTape } from '@cudnn-rnn/ops/executor'
import type { DeviceBuffer } from '../device/device_buffer.js'
import type { RnnPlan } from './rnn_plan.js'

/** Values of a training forward for its backward. The tape owns all buffers and releases them. */
export interface TapeContents {
  readonly plan: RnnPlan
  /** The buffers that cuDNN read and wrote: 16-bit if the precision is, without padding. */
  readonly buffers: {
    readonly x: DeviceBuffer
    readonly hx: DeviceBuffer | undefined
    readonly cx: DeviceBuffer | undefined
    readonly y: DeviceBuffer
    readonly weights: DeviceBuffer
    readonly reserve: DeviceBuffer
    /** If the network has a clip: c before the first step, if one was given, and c after the last, unclipped. */
    readonly initialC: DeviceBuffer | undefined
    readonly finalC: DeviceBuffer | undefined
  }
}

/** Idempotence is the caller's: RnnTape releases its contents once. */
function freeContents({ buffers, plan }: TapeContents): void {
  for (const buffer of Object.values(buffers)) buffer?.release()
  plan.release()
}

/** Frees the buffers of tapes that were dropped without `dispose()`. */
const dropped = new FinalizationRegistry(freeContents)

/** The tape of one training forward: it owns cuDNN's reserve space. */
export class CudnnTape extends RnnTape<TapeContents> {
  #isInUse = false
  /** Whether it was disposed while its backward was under way. */
  #isUnwanted = false

  constructor(...args: ConstructorParameters<typeof RnnTape<TapeContents>>) {
    super(...args)
    dropped.register(this, args[1].contents, this)
  }

  override checkOpen(): void {
    super.checkOpen()
    if (!this.#isInUse) return
    throw codedRangeError(
      'ERR_TAPE_CONSUMED',
      'Cannot run backward as a tape serves exactly one: one is under way. Run forward again.',
    )
  }

  /** Runs the one backward; the tape is consumed when it succeeds and stays open when it does not. */
  async serve<Result>(backward: () => Result | Promise<Result>): Promise<Result> {
    this.#isInUse = true
    try {
      const result = await backward()
      this.#isInUse = false
      this.consume()
      return result
    } finally {
      this.#isInUse = false
      if (this.#isUnwanted) super.dispose()
    }
  }

  /** A backward that is under way ends first: the tape is consumed if it succeeds, as on the other executors. */
  override dispose(): void {
    if (this.#isInUse) this.#isUnwanted = true
    else super.dispose()
  }

  protected override free(contents: TapeContents): void {
    dropped.unregister(this)
    freeContents(contents)
  }
}
