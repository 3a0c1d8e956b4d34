import { type Ledger, OpenTape, type RnnPassSizes } from '@cudnn-rnn/backend'
import { codedRangeError, type FloatArray } from '@cudnn-rnn/canonical'
import type { LayerRecord } from './layer_forward.js'
import { ReferenceTensor } from './reference_tensor.js'

/** What a training forward of the reference executor keeps. */
export interface TapeContents {
  /** The network that ran the forward; its backward compares it with itself. */
  readonly rnn: object
  readonly sizes: RnnPassSizes
  readonly params: FloatArray
  /** The input of every layer, after dropout. */
  readonly layerInputs: readonly FloatArray[]
  /** Scale of every element of the layer outputs that dropout was applied to: 0 or 1/(1-p). */
  readonly dropoutScales: readonly FloatArray[]
  /** By pseudo-layer. */
  readonly records: readonly LayerRecord[]
  /** What must not be overwritten before the backward, by its name in the public API: cuDNN's backward reads it again. */
  readonly operands: Readonly<Record<string, unknown>>
}

/** The tape of one training forward. */
export class ReferenceTape extends OpenTape {
  #contents: TapeContents | undefined
  readonly #ledger: Ledger
  readonly #bytes: number
  readonly #versions: ReadonlyMap<string, number>

  constructor(ledger: Ledger, contents: TapeContents) {
    super()
    this.#ledger = ledger
    this.#contents = contents
    this.#bytes = tapeBytes(contents)
    this.#versions = new Map(
      Object.entries(contents.operands).flatMap(([name, operand]) =>
        operand instanceof ReferenceTensor ? [[name, operand.version]] : [],
      ),
    )
    ledger.add('tapes', this.#bytes)
  }

  /** The contents of an open tape. Throws as `checkOpen`, and RangeError `ERR_TAPE_STALE` for overwritten operands. */
  contents(): TapeContents {
    this.checkOpen()
    const contents = this.#contents as TapeContents
    for (const [name, version] of this.#versions) {
      if ((contents.operands[name] as ReferenceTensor).version === version) continue
      throw codedRangeError(
        'ERR_TAPE_STALE',
        `Cannot run backward as ${name} must be as the forward left it: it was overwritten since. Call gradients() before the update.`,
        { argument: name },
      )
    }
    return contents
  }

  protected override release(): void {
    this.#contents = undefined
    this.#ledger.remove('tapes', this.#bytes)
  }
}

function tapeBytes({ layerInputs, dropoutScales, records }: TapeContents): number {
  const kept = records.flatMap(({ saved, previousHidden, unprojected }) => [saved, previousHidden, unprojected])
  // The first layer's input is the caller's.
  return [...layerInputs.slice(1), ...dropoutScales, ...kept].reduce((sum, array) => sum + (array?.byteLength ?? 0), 0)
}
