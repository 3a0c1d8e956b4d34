import {
  ANYTHING,
  checkArguments,
  checkOptions,
  checkOptionValues,
  FLAG,
  FUNCTION,
  fields,
  kind,
  listOf,
  methods,
  OBJECT,
  oneOf,
  optional,
  type Rule,
  TEXT,
} from '@cudnn-rnn/arguments'
import { type Backend, type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import { checkHyperparameter, checkOwnTensors, checkUpdate } from '@cudnn-rnn/executor-kit'
import { checkGradientCount } from './gradient_count.js'
import type { Trainable } from './trainable.js'

export interface WeightDecayOptions {
  /** Decoupled weight decay (AdamW's): before each update, variable ← variable − learningRate·weightDecay·variable. Default 0. */
  readonly weightDecay?: number | undefined
  /**
   * Which elements of a variable decay: true all (default), false none, or a tensor of 0 and 1 in its shape, such as
   * {@link weightDecayMask} makes for opaque buffers. The optimizer does not dispose it.
   */
  readonly decayMask?: ((variable: Trainable) => TensorLike | boolean) | undefined
}

/**
 * Updates a list of variables on their executor. Its state (`slots` and `step`) is all that must be saved to go
 * on exactly; a slot of an opaque buffer has that buffer's layout, so it is saved canonically like the buffer itself.
 */
export abstract class Optimizer {
  readonly variables: readonly Trainable[]
  /** In the order of the variables; `<variable>/<slot>` in TensorFlow's words. */
  readonly slots: readonly Trainable[]
  protected readonly backend: Backend
  readonly #slotCount: number
  readonly #weightDecay: number
  readonly #decayMasks: readonly (TensorLike | boolean)[]
  #step = 0

  protected constructor(
    backend: Backend,
    variables: readonly Trainable[],
    slotNames: readonly string[],
    { weightDecay = 0, decayMask = () => true }: WeightDecayOptions,
  ) {
    checkHyperparameter('build optimizer', 'weightDecay', weightDecay, { minimum: 0 })
    this.backend = backend
    this.variables = [...variables]
    this.#slotCount = slotNames.length
    this.#weightDecay = weightDecay
    this.#decayMasks = variables.map((variable) => decayMask(variable))
    checkArguments('build optimizer', { decayMask: this.#decayMasks }, { decayMask: MASKS })
    this.slots = variables.flatMap(({ name, value }) =>
      slotNames.map((slot) => ({
        name: `${name}/${slot}`,
        value: backend.zeros(value.shape, { layout: value.layout }),
      })),
    )
  }

  /** Updates done. With `Backend.steps` an update counts once it is queued, until {@link uncount} states it was skipped. */
  get step(): number {
    return this.#step
  }

  /** Continues after `step` updates; the slots are restored by assigning to them. Throws RangeError `ERR_HYPERPARAMETER`. */
  restoreStep(step: number): void {
    checkHyperparameter('restore optimizer', 'step', step, { minimum: 0 })
    this.#step = step
  }

  /** Leaves out one update that `TrainingSteps.whereFinite` skipped; later ones may be queued already. */
  uncount(): void {
    this.restoreStep(this.#step - 1)
  }

  /**
   * One update of every variable; `gradients` in their order.
   *
   * @throws RangeError `ERR_GRADIENT_COUNT`, `ERR_SHAPE`, `ERR_OTHER_LAYOUT`, `ERR_HYPERPARAMETER`, `ERR_TENSOR_DISPOSED`;
   *   TypeError `ERR_DTYPE`, `ERR_NOT_A_TENSOR`, `ERR_FOREIGN_TENSOR`; in each case before any update
   */
  apply(gradients: readonly TensorLike[], learningRate: number): void {
    const action = 'apply gradients'
    checkArguments(action, { gradients }, { gradients: GRADIENTS })
    checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
    checkGradientCount(action, gradients, this.variables)
    for (const [index, gradient] of gradients.entries()) this.#checkOperands(action, index, gradient)
    this.#step++
    this.begin()
    for (const [index, { value }] of this.variables.entries()) {
      this.#decay(index, learningRate)
      const slots = this.#slotsOf(index).map((slot) => slot.value)
      this.update(value, gradients[index], slots, learningRate)
    }
  }

  /** Releases the slots; the variables live on. */
  dispose(): void {
    for (const { value } of this.slots) value.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  /** Called before the variables are updated. */
  protected begin(): void {}

  /** One variable's update; `slots` in the order of the names, {@link step} already counts this update. */
  protected abstract update(
    variable: BackendTensor,
    gradient: TensorLike,
    slots: readonly BackendTensor[],
    learningRate: number,
  ): void

  /** All that the executor would find wrong with one variable's update, before it has made another's. */
  #checkOperands(action: string, index: number, gradient: TensorLike): void {
    const { name, value } = this.variables[index]
    const operands: Record<string, TensorLike> = { [name]: value, [`gradient of ${name}`]: gradient }
    for (const slot of this.#slotsOf(index)) operands[slot.name] = slot.value
    const mask = this.#decayMasks[index]
    if (this.#weightDecay > 0 && typeof mask === 'object') operands[`decay mask of ${name}`] = mask
    checkUpdate(action, this.backend.dtype, operands)
    checkOwnTensors(this.backend, action, operands)
  }

  #slotsOf(index: number): readonly Trainable[] {
    return this.slots.slice(index * this.#slotCount, (index + 1) * this.#slotCount)
  }

  #decay(index: number, learningRate: number): void {
    const mask = this.#decayMasks[index]
    if (this.#weightDecay === 0 || mask === false) return
    const rate = learningRate * this.#weightDecay
    this.backend.ops.applyWeightDecay(this.variables[index].value, mask === true ? { rate } : { rate, mask })
  }
}

/**
 * Whose formula: they differ in the place of ε and in whether the rate enters a velocity. 'pytorch' (default) or
 * 'tensorflow' (Keras).
 */
export type Definition = 'pytorch' | 'tensorflow'

/**
 * Argument checks of every optimizer.
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_INVALID_OPTION_TYPE`, `ERR_INVALID_ARGUMENT`
 */
export function checkOptimizer(
  action: string,
  backend: Backend,
  variables: readonly Trainable[],
  options: WeightDecayOptions,
  optionNames: readonly string[],
): void {
  checkArguments(action, { backend }, { backend: BACKEND })
  checkOptionValues(action, { variables }, { variables: TRAINABLES })
  const rules = optionNames.map((name) => [name, OPTIONS.get(name) ?? ANYTHING] as const)
  checkOptions(action, options, { ...Object.fromEntries(rules), weightDecay: ANYTHING, decayMask: optional(FUNCTION) })
}

/** The part of an executor that `fit`, optimizers and savers use. */
export const BACKEND = methods('what openBackend() resolves to', 'tensor', 'zeros', 'rnn', 'owns')

const TENSOR = kind('a tensor of the executor', isBackendTensor)

/** Rule of the variables. */
export const TRAINABLES = listOf(fields({ name: TEXT, value: TENSOR }))

const GRADIENTS = listOf(OBJECT)
const MASKS = listOf(
  kind('true, false or a tensor', (mask) => typeof mask === 'boolean' || (typeof mask === 'object' && mask !== null)),
)

/** Options other than numbers, which checkHyperparameter checks. */
const OPTIONS: ReadonlyMap<string, Rule> = new Map([
  ['definition', optional(oneOf(['pytorch', 'tensorflow']))],
  ['nesterov', optional(FLAG)],
])
