import { describeValue } from '@cudnn-rnn/canonical'
import { checkIsObject, codedTypeError } from '@cudnn-rnn/canonical/rules'
import {
  type BackendTensor,
  type DenseOps,
  type FloatDType,
  isBackendTensor,
  type OptimizerOptions,
  type OptimizerRule,
  type OptimizerSlots,
  type TensorLike,
} from '@cudnn-rnn/ops'
import { checkHyperparameter } from '../arguments/hyperparameter.js'
import { checkRuleArguments, completeUpdate, type OptimizerUpdate } from '../arguments/optimizer_update.js'
import { checkIsTensor, checkRule, checkTensor } from '../arguments/tensor_arguments.js'
import {
  checkOwnTensor,
  type ExecutorMemory,
  ownTensor,
  type VersionedTensor,
  writableTensor,
} from '../memory/executor_memory.js'
import type { RowName } from './table.js'

/** The kernels that write tensors. */
export interface StatementKernels<Own extends BackendTensor> {
  /** The global norm; the tensors are scaled down to `maxNorm` (possibly Infinity) if it is above, and finite. */
  norm(tensors: readonly Own[], maxNorm: number): Own
  assign(variable: Own, source: TensorLike): void
  /** Clamps to -limit…limit. */
  clip(tensors: readonly Own[], limit: number): void
  /** Whether an update of Adam can read its step from a tensor. */
  readonly readsCounts?: boolean
  /**
   * @param written variable and slots, in the order of the rule. @param source gradient, source or mask.
   * @param count the scalar that counts the updates if the step is NaN
   */
  update(update: OptimizerUpdate, written: readonly Own[], source: TensorLike | undefined, count?: Own): void
}

/** The operations that write tensors; they count their writes. */
export class Statements<Own extends VersionedTensor> implements Omit<DenseOps, RowName> {
  readonly #memory: ExecutorMemory<Own>
  readonly #kernels: StatementKernels<Own>

  constructor(memory: ExecutorMemory<Own>, kernels: StatementKernels<Own>) {
    this.#memory = memory
    this.#kernels = kernels
  }

  globalNorm(tensors: readonly BackendTensor[]): Own {
    const owned = new Set(this.#owned('compute the global norm', tensors, false))
    return this.#kernels.norm([...owned], Number.POSITIVE_INFINITY)
  }

  clipByGlobalNorm(tensors: readonly BackendTensor[], maxNorm: number): Own {
    const action = 'clip by global norm'
    checkHyperparameter(action, 'maxNorm', maxNorm, { minimum: 0 })
    // A tensor that is listed twice would be scaled twice.
    const owned = [...new Set(this.#owned(action, tensors, true))]
    const norm = this.#kernels.norm(owned, maxNorm)
    for (const tensor of owned) tensor.version++
    return norm
  }

  clipByValue(tensors: readonly BackendTensor[], limit: number): void {
    const action = 'clip by value'
    checkHyperparameter(action, 'limit', limit, { minimum: 0 })
    const owned = this.#owned(action, tensors, true)
    this.#kernels.clip(owned, limit)
    for (const tensor of owned) tensor.version++
  }

  assign(variable: BackendTensor, source: TensorLike): void {
    const action = 'assign'
    const taken = { variable: this.#taken(action, 'variable', variable), source: this.#taken(action, 'source', source) }
    const written = writableTensor(this.#memory, action, 'variable', taken.variable)
    const { dtype, shape, layout } = written
    checkTensor(action, 'source', taken.source, { dtype, shape, layout })
    this.#kernels.assign(written, taken.source)
    written.version++
  }

  accumulate(variable: BackendTensor, source: TensorLike, scale = 1): void {
    const action = 'accumulate'
    checkHyperparameter(action, 'scale', scale)
    this.#update(action, { rule: 'addScaled', scale }, ['variable', 'source'], [variable, source])
  }

  update<Rule extends OptimizerRule>(
    rule: Rule,
    variable: BackendTensor,
    slots: OptimizerSlots<Rule>,
    source: TensorLike | null,
    options: OptimizerOptions<Rule>,
  ): void {
    const row = checkRuleArguments(rule, slots)
    const { action, operandNames, isSourceNullable } = row
    checkIsObject(action, 'options', options)
    const count = 'step' in options ? this.#count(action, options.step) : undefined
    const update = completeUpdate(row, options, count !== undefined)
    const operands: TensorLike[] = [variable, ...(slots as readonly BackendTensor[])]
    const hasSource = !(isSourceNullable && source === null)
    if (hasSource) operands.push(source as TensorLike)
    this.#update(action, update, operandNames, operands, hasSource, count)
  }

  /**
   * Checks all operands, then updates. A step of training makes one such call per variable, so the operands are in arrays:
   * building an object of them takes longer than the checks.
   *
   * @param names of the operands in the public API
   * @param operands all are overwritten, but the last if it is the source
   */
  #update(
    action: string,
    update: OptimizerUpdate,
    names: readonly string[],
    operands: readonly TensorLike[],
    hasSource = true,
    count?: Own,
  ): void {
    const memory = this.#memory
    memory.life.check(action)
    for (let k = 0; k < operands.length; k++) checkOwnTensor(memory, action, names[k], operands[k])
    const taken = operands.map((operand, k) => checkIsTensor(action, names[k], operand))
    checkAlike(action, memory.dtype, names, taken)
    const source = hasSource ? taken.pop() : undefined
    const owned = taken.map((tensor, k) => writableTensor(memory, action, names[k], tensor))
    this.#kernels.update(update, owned, source, count)
    for (const tensor of owned) tensor.version++
  }

  /** The operand as it is now, read from its caller once: live, and the executor's own if it is a backend tensor. */
  #taken<Operand extends TensorLike>(action: string, name: string, operand: Operand): Operand {
    this.#memory.life.check(action)
    checkOwnTensor(this.#memory, action, name, operand)
    return checkIsTensor(action, name, operand)
  }

  /** A step that is a tensor of an executor that can read it. */
  #count(action: string, step: unknown): Own | undefined {
    if (this.#kernels.readsCounts !== true || !isBackendTensor(step)) return undefined
    const own = ownTensor(this.#memory, action, 'step', this.#taken(action, 'step', step))
    return checkTensor(action, 'step', own, { dtype: this.#memory.dtype, shape: [] })
  }

  #owned(action: string, tensors: readonly BackendTensor[], isWritten: boolean): Own[] {
    this.#memory.life.check(action)
    if (!Array.isArray(tensors)) {
      throw codedTypeError(
        'ERR_NOT_A_TENSOR',
        `Cannot ${action} as tensors must be an array of backend tensors: current value is ${describeValue(tensors)}`,
        { argument: 'tensors' },
      )
    }
    const { dtype } = this.#memory
    const owned: Own[] = []
    for (let index = 0; index < tensors.length; index++) {
      const name = `tensors[${index}]`
      const taken = this.#taken(action, name, tensors[index])
      const own = (isWritten ? writableTensor : ownTensor)(this.#memory, action, name, taken)
      checkRule(action, name, own, { dtype })
      owned.push(own)
    }
    return owned
  }
}

/** Checks that the operands of an elementwise update have one dtype, one shape and one opaque layout. */
export function checkUpdate(action: string, dtype: FloatDType, operands: Readonly<Record<string, TensorLike>>): void {
  const names = Object.keys(operands)
  const tensors = names.map((name) => checkIsTensor(action, name, operands[name]))
  checkAlike(action, dtype, names, tensors)
}

/** Like {@link checkUpdate}, for tensors that `checkIsTensor` returned. */
function checkAlike(action: string, dtype: FloatDType, names: readonly string[], tensors: readonly TensorLike[]): void {
  const [first] = tensors
  if (first === undefined) return
  const rule = { dtype, shape: first.shape, layout: 'layout' in first ? first.layout : undefined }
  for (let k = 0; k < tensors.length; k++) checkRule(action, names[k], tensors[k], rule)
}
