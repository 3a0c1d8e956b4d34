import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { Recording, TapeVariable, Value } from '@cudnn-rnn/ops/executor'

interface Owner {
  readonly name: string
}

interface RecordedPass {
  readonly recording: Recording
  readonly output: Value
  /** Values whose gradients are computed: the input, unless it is of class ids, and the variables. */
  readonly sources: readonly TapeVariable[]
}

/**
 * The tensors that one training pass keeps for its one backward.
 *
 * @example
 * ```ts
 * import { dense, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [dense({ units: 2 })], { inputSize: 3 })
 * const input = { data: new Float32Array(4 * 1 * 3), shape: [4, 1, 3] } // [T,B,I]
 * const inference = await model.call(input, { isTraining: false })
 * console.log(inference.tape) // undefined
 * const { tape } = await model.call(input)
 * tape?.dispose() // No gradients() follows.
 * ```
 */
export class LayerTape {
  readonly #layer: Owner
  #pass: RecordedPass | undefined
  #isConsumed = false

  constructor(layer: Owner, pass: RecordedPass) {
    this.#layer = layer
    this.#pass = pass
  }

  /** The pass of `tape`. Throws TypeError `ERR_LAYER_TAPE` for a value that is not a tape; RangeError for another layer's or a used one. */
  static of(action: string, layer: Owner, tape: LayerTape): RecordedPass {
    if (typeof tape !== 'object' || tape === null || !(#pass in tape)) {
      throw codedTypeError(
        'ERR_LAYER_TAPE',
        `Cannot ${action} as tape must be what call() returned in training: current value is ${describeValue(tape)}`,
      )
    }
    if (tape.#layer !== layer) {
      throw codedRangeError(
        'ERR_LAYER_TAPE',
        `Cannot ${action} as the tape must be of this layer: current layer is ${tape.#layer.name}`,
        { layer: tape.#layer.name },
      )
    }
    if (tape.#pass === undefined) {
      const what = tape.#isConsumed ? 'consumed' : 'disposed'
      throw codedRangeError('ERR_LAYER_TAPE', `Cannot ${action} as the tape was ${what} before: call() makes another`)
    }
    return tape.#pass
  }

  /** Marks that its one backward begins. */
  consume(): void {
    this.#isConsumed = true
  }

  /** Releases the intermediate values of the pass; the output stays. Idempotent. */
  dispose(): void {
    this.#pass?.recording.dispose()
    this.#pass = undefined
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
