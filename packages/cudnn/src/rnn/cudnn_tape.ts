import { RnnTape } from '@cudnn-rnn/executor-kit'
import { codedRangeError } from '../coded_error.js'
import type { DeviceBuffer } from '../device/device_buffer.js'
import type { RnnPlan } from './rnn_plan.js'

/** Values of a training forward for its backward. The tape owns all buffers and releases them. */
export interface TapeContents {
  readonly plan: RnnPlan
  /** As cuDNN read and wrote them: 16-bit where the precision is, without padding. */
  readonly buffers: {
    readonly x: DeviceBuffer
    readonly hx: DeviceBuffer | undefined
    readonly cx: DeviceBuffer | undefined
    readonly y: DeviceBuffer
    readonly weights: DeviceBuffer
    readonly reserve: DeviceBuffer
    /** Of a network with a clip: c before the first step, where one was given, and c after the last, unclipped. */
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

  constructor(...args: ConstructorParameters<typeof RnnTape<TapeContents>>) {
    super(...args)
    dropped.register(this, args[1].contents, this)
  }

  override contentsFor(rnn: object): TapeContents {
    const contents = super.contentsFor(rnn)
    if (!this.#isInUse) return contents
    throw codedRangeError(
      'ERR_TAPE_CONSUMED',
      'Cannot run backward as a tape serves exactly one: one is under way. Run forward again.',
    )
  }

  /** Runs the one backward; the tape is consumed when it succeeds and stays open when it does not. */
  async serve<Result>(backward: () => Promise<Result>): Promise<Result> {
    this.#isInUse = true
    try {
      const result = await backward()
      // Disposing a tape whose backward is under way releases it early, which the queue allows.
      if (this.state === 'open') this.consume()
      return result
    } finally {
      this.#isInUse = false
    }
  }

  protected override free(contents: TapeContents): void {
    dropped.unregister(this)
    freeContents(contents)
  }
}
