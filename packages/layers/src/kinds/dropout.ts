import { checkArguments, integerFrom, nullable, type OptionsOf, optional, SHARE } from '@cudnn-rnn/canonical/rules'
import type { GradientTape } from '@cudnn-rnn/ops/executor'
import type { LayerInput } from '../forwarded.js'
import { type ConfigValue, Layer, type LayerDefinition, type LayerInfo } from '../layer.js'
import type { LayerBuild } from '../layer_build.js'
import { ANY_FLOATS, checkInputRule, checkLayerOptions, LAYER_OPTIONS, type LayerOptions } from '../layer_options.js'
import { seedOfStream } from '../training/random_streams.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** Probability 0..1 with which an element becomes 0 in training. */
  rate: SHARE,
  /** Default: from the model's seed. */
  seed: optional(integerFrom(0)),
}

const MASKS_DRAWN = nullable(integerFrom(0))

interface DropoutLayerOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * Drops elements in training and scales the others by 1/(1 - rate). The masks are the same on every executor, and a resumed
 * run draws the masks that the uninterrupted run would have drawn.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { dropout, openBackend, sequential } from '@cudnn-rnn/rnn'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [dropout({ rate: 0.5 })], { inputSize: 1, seed: 1 })
 * const input = { data: new Float32Array(8).fill(1), shape: [8, 1, 1] } // [T,B,E]
 * console.log((await model.predict(input)).data[0]) // 1
 * const { output } = await model.call(input) // in training
 * console.log((await output.data()).every((x) => x === 0 || x === 2)) // true
 * ```
 */
export function dropout(options: DropoutLayerOptions): LayerDefinition {
  const given = checkLayerOptions('dropout', options, OPTIONS)
  const { rate, seed } = given
  const definition: LayerDefinition = {
    kind: 'dropout',
    name: given.name,
    isStepwise: true,
    config: { rate, ...(seed !== undefined && { seed }) },
    build(input, build) {
      checkInputRule(definition, input, ANY_FLOATS)
      const name = build.nameOf(given.name, 'dropout')
      const info = { definition, name, input, output: input }
      return new DropoutLayer(build, info, { rate, seed: seed ?? build.maskSeed() })
    },
  }
  return definition
}

class DropoutLayer extends Layer {
  readonly #options: { readonly rate: number; readonly seed: number }
  #stream = 0
  #draw = 0

  constructor({ backend }: LayerBuild, info: LayerInfo, options: { readonly rate: number; readonly seed: number }) {
    super(backend, info)
    this.#options = options
  }

  forward(t: GradientTape, x: LayerInput) {
    if (!t.isTraining) return t.value(x)
    const { rate, seed } = this.#options
    return t.dropout(x, { rate, seed: seedOfStream(seed, this.#stream), draw: this.#draw++ })
  }

  override async randomState(): Promise<ConfigValue> {
    return this.#draw
  }

  override restoreRandomState(state: ConfigValue): void {
    checkArguments(`restore the masks of ${this.name}`, { state }, { state: MASKS_DRAWN })
    this.#draw = (state as number | null) ?? 0
  }

  /** The number of the next mask is kept, so that no stream repeats its masks. */
  override useRandomStream(stream: number): void {
    this.#stream = stream
  }
}
