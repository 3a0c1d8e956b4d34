import { checkArguments, codedRangeError, listOf, nullable, OBJECT } from '@cudnn-rnn/canonical/rules'
import {
  type Backend,
  type BackendTensor,
  isBackendTensor,
  type OptimizerOptions,
  type OptimizerRule,
  type OptimizerSlots,
  type TensorLike,
} from '@cudnn-rnn/ops'
import { backendOf, checkHyperparameter, checkOwnTensors, checkUpdate } from '@cudnn-rnn/ops/executor'
import { fingerprintOf } from '../data/fingerprint.js'
import { checkGradientCount, type Trainable } from './trainable.js'
import type { OptimizerSpec, PerVariableOptions, Settings } from './optimizer_spec.js'

/** The options of one update, in which every variable has the same. */
export type UpdateOptions = Readonly<Record<string, number | boolean | BackendTensor>>

/**
 * Updates a list of variables on their executor. Its state (`slots` and `step`) is all that must be saved to go
 * on exactly; a slot of an opaque buffer has that buffer's layout, so it is saved canonically like the buffer itself.
 * A variable that is listed twice is RangeError `ERR_INVALID_OPTION`.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { Adam, Optimizer, Sgd } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const weight = { name: 'weight', backend, value: backend.tensor({ data: Float32Array.of(1, 2), shape: [2] }) }
 * const gradient = { data: Float32Array.of(1, 1), shape: [2] }
 * const optimizers: Optimizer[] = [new Sgd([weight], { momentum: 0.9 }), new Adam([weight])]
 * for (const optimizer of optimizers) optimizer.apply([gradient], 0.1)
 * console.log(optimizers.map(({ step, slots }) => [step, slots.length])) // [[1, 1], [1, 2]]
 * ```
 */
export abstract class Optimizer {
  readonly variables: readonly Trainable[]
  /** In the order of the variables; `<variable>/<slot>` in TensorFlow's words. */
  readonly slots: readonly Trainable[]
  /** Every number and choice of its formula, defaults included: ranks of a training must share them. */
  readonly settings: Readonly<Record<string, unknown>>
  /** The executor of the variables. */
  readonly backend: Backend
  readonly #rule: OptimizerRule
  readonly #settings: Settings
  readonly #slotCount: number
  /** One for each variable. */
  readonly #updates: readonly {
    readonly rateFactor: number
    readonly decay: number
    readonly mask: TensorLike | null
  }[]
  #step = 0

  protected constructor(
    variables: readonly Trainable[],
    { rule, slots, settings }: Pick<OptimizerSpec, 'rule' | 'slots'> & { readonly settings: Settings },
    { weightDecay = 0, decayMask, rateFactor }: PerVariableOptions,
  ) {
    const action = 'build optimizer'
    if (typeof weightDecay !== 'function') checkHyperparameter(action, 'weightDecay', weightDecay, { minimum: 0 })
    const backend = backendOf(action, variables, 'variables')
    const twice = variables.find((variable, k) => variables.indexOf(variable) !== k)
    if (twice !== undefined) {
      const message = `Cannot ${action} as its variables must be different: ${twice.name} is there twice`
      throw codedRangeError('ERR_INVALID_OPTION', message, { variable: twice.name })
    }
    this.backend = backend
    this.variables = [...variables]
    this.#rule = rule
    this.#settings = settings
    this.#slotCount = slots.length
    this.#updates = variables.map((variable) => {
      const own = {
        rateFactor: rateFactor?.(variable) ?? 1,
        decay: typeof weightDecay === 'function' ? weightDecay(variable) : weightDecay,
        mask: decayMask?.(variable) ?? null,
      }
      checkHyperparameter(action, `rateFactor of ${variable.name}`, own.rateFactor, { minimum: 0 })
      checkHyperparameter(action, `weightDecay of ${variable.name}`, own.decay, { minimum: 0 })
      checkArguments(action, { decayMask: own.mask }, { decayMask: MASK })
      return own
    })
    this.settings = {
      ...{ rule, ...settings, weightDecay },
      ...(typeof weightDecay === 'function' && { weightDecay: this.#updates.map(({ decay }) => decay) }),
      ...(decayMask && { decayMask: this.#updates.map(({ mask }) => mask && described(mask)) }),
      ...(rateFactor && { rateFactor: this.#updates.map((own) => own.rateFactor) }),
    }
    this.slots = variables.flatMap(({ name, value }) =>
      slots.map((slot) => ({
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
    const { gradients: all } = checkArguments(action, { gradients }, { gradients: GRADIENTS })
    checkHyperparameter(action, 'learningRate', learningRate, { minimum: 0 })
    checkGradientCount(action, all, this.variables)
    for (const [index, gradient] of all.entries()) this.#checkOperands(action, index, gradient)
    this.#step++
    this.begin()
    const options = this.updateOptions(learningRate)
    for (const [index, { value }] of this.variables.entries()) {
      const { rateFactor, decay, mask } = this.#updates[index]
      if (rateFactor === 0) continue
      const rate = learningRate * rateFactor
      if (decay > 0) this.backend.ops.update('weightDecay', value, [], mask, { rate: rate * decay })
      const slots = this.#slotsOf(index).map((slot) => slot.value)
      const own = rateFactor === 1 ? options : { ...options, learningRate: rate }
      this.#update(value, slots, all[index], own)
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

  /** The options of the rule in this update, which {@link step} already counts. */
  protected updateOptions(learningRate: number): UpdateOptions {
    return { learningRate, ...this.#settings }
  }

  // The types of slots and options depend on the rule, which is known here as one of all: checkSettings and the executor
  // check them by the table.
  #update(
    variable: BackendTensor,
    slots: readonly BackendTensor[],
    gradient: TensorLike,
    options: UpdateOptions,
  ): void {
    const { ops } = this.backend
    ops.update(this.#rule, variable, slots as OptimizerSlots, gradient, options as unknown as OptimizerOptions)
  }

  /** Checks the operands of one variable's update: all variables are checked before the first is updated. */
  #checkOperands(action: string, index: number, gradient: TensorLike): void {
    const { name, value } = this.variables[index]
    const operands: Record<string, TensorLike> = { [name]: value, [`gradient of ${name}`]: gradient }
    for (const slot of this.#slotsOf(index)) operands[slot.name] = slot.value
    const { decay, mask } = this.#updates[index]
    if (decay > 0 && mask !== null) operands[`decay mask of ${name}`] = mask
    checkUpdate(action, this.backend.dtype, operands)
    checkOwnTensors(this.backend, action, operands)
  }

  #slotsOf(index: number): readonly Trainable[] {
    return this.slots.slice(index * this.#slotCount, (index + 1) * this.#slotCount)
  }
}

/** A mask by its elements, if they are in memory of the host. */
function described(mask: TensorLike): string {
  return isBackendTensor(mask) ? `tensor [${mask.shape.join(',')}]` : fingerprintOf(mask)
}

const GRADIENTS = listOf(OBJECT)
const MASK = nullable<object>(OBJECT)
