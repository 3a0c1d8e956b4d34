import { required } from '@cudnn-rnn/arguments'
import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError, codedTypeError } from './coded_error.js'
import type { Forwarded } from './forwarded.js'

/** Whose pass it is. */
interface Owner {
  readonly name: string
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
  #forwarded: Forwarded | undefined
  #isConsumed = false

  constructor(layer: Owner, forwarded: Forwarded) {
    this.#layer = layer
    this.#forwarded = forwarded
  }

  /** The pass of `tape`. Throws TypeError `ERR_LAYER_TAPE` for a value that is not a tape; RangeError for another layer's or a used one. */
  static of(action: string, layer: Owner, tape: LayerTape): Forwarded {
    if (typeof tape !== 'object' || tape === null || !(#forwarded in tape)) {
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
    if (tape.#forwarded === undefined) {
      const what = tape.#isConsumed ? 'consumed' : 'disposed'
      throw codedRangeError('ERR_LAYER_TAPE', `Cannot ${action} as the tape was ${what} before: call() makes another`)
    }
    return tape.#forwarded
  }

  /** The backward, for the one time that it is called. */
  consume(): Forwarded['backward'] {
    this.#isConsumed = true
    return required(this.#forwarded, 'an open tape has its forward pass').backward
  }

  /** Releases the intermediate values of the pass; the output stays. Idempotent. */
  dispose(): void {
    this.#forwarded?.release?.()
    this.#forwarded = undefined
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}
