import { type Ledger, OpenTape, type RnnPassSizes } from '@cudnn-rnn/backend'
import { codedRangeError, type FloatArray } from '@cudnn-rnn/canonical'
import { CpuTensor } from './cpu_tensor.js'
import type { NativeTape } from './native_addon.js'

/** What a training forward of the CPU executor keeps. */
export interface TapeContents {
  /** The network that ran the forward; its backward compares it with itself. */
  readonly rnn: object
  readonly sizes: RnnPassSizes
  readonly params: FloatArray
  readonly input: FloatArray
  readonly native: NativeTape
  /** What must not be overwritten before the backward, by its name in the public API: cuDNN's backward reads it again. */
  readonly operands: Readonly<Record<string, unknown>>
}

/** The tape of one training forward. */
export class CpuTape extends OpenTape {
  #contents: TapeContents | undefined
  readonly #ledger: Ledger
  readonly #bytes: number
  readonly #versions: ReadonlyMap<string, number>

  constructor(ledger: Ledger, contents: TapeContents) {
    super()
    this.#ledger = ledger
    this.#contents = contents
    this.#bytes = contents.native.bytes
    this.#versions = new Map(
      Object.entries(contents.operands).flatMap(([name, operand]) =>
        operand instanceof CpuTensor ? [[name, operand.version]] : [],
      ),
    )
    ledger.add('tapes', this.#bytes)
  }

  /** The contents of an open tape. Throws as `checkOpen`, and RangeError `ERR_TAPE_STALE` for overwritten operands. */
  contents(): TapeContents {
    this.checkOpen()
    const contents = this.#contents as TapeContents
    for (const [name, version] of this.#versions) {
      if ((contents.operands[name] as CpuTensor).version === version) continue
      throw codedRangeError(
        'ERR_TAPE_STALE',
        `Cannot run backward as ${name} must be as the forward left it: it was overwritten since. Call gradients() before the update.`,
        { argument: name },
      )
    }
    return contents
  }

  protected override release(): void {
    // A backward that is still queued keeps the native memory until it is done.
    this.#contents?.native.release()
    this.#contents = undefined
    this.#ledger.remove('tapes', this.#bytes)
  }
}
