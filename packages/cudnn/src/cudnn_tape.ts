import { type Ledger, OpenTape, type TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError } from '@cudnn-rnn/canonical'
import { CudnnTensor } from './cudnn_tensor.js'
import type { DeviceBuffer } from './device_buffer.js'
import type { RnnPlan } from './rnn_plan.js'

/** What a tape borrowed. */
export interface TapeLease {
  giveBack(): void
}

/** What a training forward keeps for its backward; all buffers are the tape's to release. */
export interface TapeContents {
  /** The network that ran the forward; its backward compares it with itself. */
  readonly rnn: object
  readonly plan: RnnPlan
  /** The graphs whose fixed buffers these are, if any: nobody else can use them until the tape is released. */
  readonly graphs: TapeLease | undefined
  /** As cuDNN read and wrote them: 16-bit where the precision is, without padding. */
  readonly buffers: {
    readonly x: DeviceBuffer
    readonly hx: DeviceBuffer | undefined
    readonly cx: DeviceBuffer | undefined
    readonly y: DeviceBuffer
    readonly weights: DeviceBuffer
    readonly reserve: DeviceBuffer
  }
}

/** The operands of a forward that its backward reads again, and what they were when it was called. */
export class OperandVersions {
  readonly #versions: readonly (readonly [string, CudnnTensor, number])[]

  constructor(operands: Readonly<Record<string, TensorLike | null | undefined>>, earlier?: OperandVersions) {
    const noted = Object.entries(operands).flatMap(([name, operand]) =>
      operand instanceof CudnnTensor ? [[name, operand, operand.version] as const] : [],
    )
    this.#versions = [...(earlier === undefined ? [] : earlier.#versions), ...noted]
  }

  /** These and one more. */
  with(name: string, tensor: CudnnTensor): OperandVersions {
    return new OperandVersions({ [name]: tensor }, this)
  }

  /** Throws RangeError `ERR_TAPE_STALE` when one was overwritten since. */
  check(): void {
    for (const [name, tensor, version] of this.#versions) {
      if (tensor.version === version) continue
      throw codedRangeError(
        'ERR_TAPE_STALE',
        `Cannot run backward as ${name} must be as the forward left it: it was overwritten since. Call gradients() before the update.`,
        { argument: name },
      )
    }
  }
}

/** The tape of one training forward: it owns cuDNN's reserve space. */
export class CudnnTape extends OpenTape {
  #contents: TapeContents | undefined
  readonly #ledger: Ledger
  readonly #versions: OperandVersions
  readonly #bytes: number
  #isInUse = false

  constructor(ledger: Ledger, contents: TapeContents, versions: OperandVersions) {
    super()
    this.#ledger = ledger
    this.#contents = contents
    this.#versions = versions
    this.#bytes = contents.buffers.reserve.bytes
    ledger.add('tapes', this.#bytes)
  }

  /** The contents of an open tape. Throws as `checkOpen`, and `ERR_TAPE_STALE` for overwritten operands. */
  contents(): TapeContents {
    this.checkOpen()
    if (this.#isInUse) {
      throw codedRangeError('ERR_TAPE_CONSUMED', 'Cannot run backward as a tape serves exactly one: one is under way.')
    }
    this.#versions.check()
    return this.#contents!
  }

  /** Runs the one backward; the tape is consumed when it succeeds and stays open when it does not. */
  async serve<Result>(backward: (contents: TapeContents) => Promise<Result>): Promise<Result> {
    const contents = this.contents()
    this.#isInUse = true
    try {
      const result = await backward(contents)
      // Disposing a tape whose backward is under way releases it early, which the queue allows.
      if (this.state === 'open') this.consume()
      return result
    } finally {
      this.#isInUse = false
    }
  }

  protected override release(): void {
    for (const buffer of Object.values(this.#contents?.buffers ?? {})) buffer?.release()
    this.#contents?.graphs?.giveBack()
    this.#contents?.plan.release()
    this.#contents = undefined
    this.#ledger.remove('tapes', this.#bytes)
  }
}
