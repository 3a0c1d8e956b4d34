import { describeValue } from '@cudnn-rnn/canonical'
import { codedRangeError, codedTypeError } from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendTensor, DTYPES, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { isValue, Value } from './value.js'
import { isVariable, type TapeVariable } from './variables.js'

/** Operands of operations on a tape. All but values and variables are constants, and so are variables that are not listed. */
export type Operand = Value | TapeVariable | TensorLike | number

/** An operand with numbers and variables replaced. */
export type Taken = Value | TensorLike | undefined

/** The gradients of an entry's operands. */
export interface Passed {
  readonly gradients: readonly (BackendTensor | undefined)[]
  /** All tensors that were made for them; the recording owns them. */
  readonly made: readonly BackendTensor[]
}

/** An operation that was recorded. */
export interface Entry {
  /** Completes "Cannot compute gradients as …": the operation's name. */
  readonly name: string
  readonly operands: readonly (Value | undefined)[]
  readonly operandName: (index: number) => string
  readonly results: readonly Value[]
  /** Tensors that `pass` reads. */
  readonly held: readonly BackendTensor[]
  /** The gradients of the operands, from the gradients of the results. */
  readonly pass: (given: readonly (BackendTensor | undefined)[]) => Passed | Promise<Passed>
  /** The gradients of the operands if the result's is 1; absent if they are not known. */
  readonly known?: readonly (BackendTensor | undefined)[] | undefined
  /** Frees what only this entry has. */
  readonly dispose?: (() => void) | undefined
}

const ACTION = 'compute gradients'
const TAKE = 'end a tape'

/**
 * What one function computed: its operations in their order, and every tensor that they made. Each tensor has a count of those who
 * need it (a value whose scope is open, an operation whose gradient reads it, a gradient) and is disposed with the last one.
 */
export class Recording {
  readonly backend: Backend
  /** Whether anything is recorded. */
  readonly isTraining: boolean
  readonly #wanted: ReadonlySet<BackendTensor>
  readonly #entries: Entry[] = []
  readonly #holders = new Map<BackendTensor, number>()
  readonly #leaves = new Map<BackendTensor, Value>()
  readonly #gradients = new Map<Value, BackendTensor>()
  readonly #pending = new Set<Promise<unknown>>()
  #state: 'open' | 'consumed' | 'disposed' = 'open'

  /** @param variables those that are differentiated; without them nothing is recorded. */
  constructor(backend: Backend, variables: readonly TapeVariable[], isTraining = true) {
    this.backend = backend
    this.isTraining = isTraining
    this.#wanted = new Set(isTraining ? variables.map(({ value }) => value) : [])
  }

  /** Throws RangeError `ERR_TAPE_CONSUMED` or `ERR_TAPE_DISPOSED` unless operations can be added. */
  checkOpen(action: string): void {
    if (this.#state === 'open') return
    const code = this.#state === 'consumed' ? 'ERR_TAPE_CONSUMED' : 'ERR_TAPE_DISPOSED'
    throw codedRangeError(
      code,
      `Cannot ${action} as the function of the tape has ended: use t inside it, and await its calls`,
    )
  }

  /**
   * An operand as an operation of the executor takes it, or its value if it is on the tape.
   *
   * @throws RangeError `ERR_SECOND_ORDER`; TypeError `ERR_NOT_AWAITED`
   */
  operand(action: string, name: string, given: unknown): Taken {
    if (isValue(given)) {
      if (given.isOf(this)) return given
      throw codedRangeError(
        'ERR_SECOND_ORDER',
        `Cannot ${action} as ${name} must be a value of this tape: current one is of another, which gradients of this one do not reach. Read it, or compute it here`,
        { argument: name },
      )
    }
    if (typeof given === 'number') return { data: DTYPES[this.backend.dtype].array.of(given), shape: [] }
    if (isVariable(given)) return this.#leaf(given.value)
    if (given instanceof Promise || (given === undefined && this.#pending.size > 0)) {
      throw codedTypeError(
        'ERR_NOT_AWAITED',
        `Cannot ${action} as ${name} must be awaited first: current value is ${given === undefined ? 'undefined, a part of a promise' : 'a promise'}`,
        { argument: name },
      )
    }
    return given as TensorLike | undefined
  }

  /**
   * A value of the tape.
   *
   * @throws as {@link operand}; as `Backend.tensor`; TypeError `ERR_FOREIGN_TENSOR`
   */
  value(action: string, name: string, given: unknown, made: Value[]): Value {
    const operand = this.operand(action, name, given)
    if (isValue(operand)) return operand
    if (!isBackendTensor(operand)) return this.newValue(this.backend.tensor(operand as never), false, made)
    if (this.backend.owns(operand)) return this.#leaf(operand as BackendTensor)
    throw codedTypeError(
      'ERR_FOREIGN_TENSOR',
      `Cannot ${action} as ${name} belongs to another executor: read() it and pass the host tensor`,
      { argument: name },
    )
  }

  /** A value of a new tensor, which the tape owns from now on. */
  newValue(tensor: BackendTensor, isDifferentiated: boolean, made: Value[]): Value {
    this.#holders.set(tensor, 1)
    const value = new Value(this, tensor, isDifferentiated)
    made.push(value)
    return value
  }

  /** The same tensor as a constant, or as a value whose gradients are added up before their sum is passed on to `x`. */
  alias(x: Value, isDifferentiated: boolean, made: Value[]): Value {
    this.hold(x.tensor)
    const value = new Value(this, x.tensor, isDifferentiated)
    made.push(value)
    if (!isDifferentiated) return value
    this.add({
      ...{ name: 'a part of the model', operands: [x], results: [value], held: [], operandName: () => 'its input' },
      pass: (gradients) => ({ gradients, made: [] }),
    })
    return value
  }

  /** Whether an operation on these must be recorded. */
  differentiates(operands: readonly (Value | undefined)[]): boolean {
    for (const value of operands) if (value?.isDifferentiated) return true
    return false
  }

  add(entry: Entry): void {
    for (const tensor of entry.held) this.hold(tensor)
    this.#entries.push(entry)
  }

  /** Work whose caller must await it before the function ends. */
  pending<Result>(work: Promise<Result>): Promise<Result> {
    this.#pending.add(work)
    const settled = () => this.#pending.delete(work)
    // If the function has failed, the work is not awaited, and its failure must not be reported again.
    work.then(settled, settled)
    return work
  }

  /** Takes over a new tensor, which has one holder. */
  own(tensor: BackendTensor): void {
    this.#holders.set(tensor, 1)
  }

  /** Another holder; tensors of others have none. */
  hold(tensor: BackendTensor): void {
    const count = this.#holders.get(tensor)
    if (count !== undefined) this.#holders.set(tensor, count + 1)
  }

  letGo(tensor: BackendTensor): void {
    const count = this.#holders.get(tensor)
    if (count === undefined) return
    if (count > 1) {
      this.#holders.set(tensor, count - 1)
      return
    }
    this.#holders.delete(tensor)
    tensor.dispose()
  }

  /**
   * Passes gradients from `loss` back to the variables; {@link take} has them then. Once: the operations are freed on
   * the way.
   *
   * @param given the gradient of `loss`, if it is not a scalar
   * @throws RangeError `ERR_TAPE_CONSUMED`, `ERR_SHAPE`, `ERR_NO_GRADIENT`, `ERR_TAPE_STALE`, `ERR_SECOND_ORDER`; TypeError
   *   `ERR_NOT_A_TENSOR`, `ERR_NOT_AWAITED`
   */
  async differentiate(loss: unknown, given?: BackendTensor): Promise<void> {
    this.checkOpen(ACTION)
    const value = this.#checkedLoss(loss, given)
    this.#state = 'consumed'
    const last = this.#entries.at(-1)
    const known = given === undefined && last?.results[0] === value ? last.known : undefined
    const one = known === undefined ? (given ?? this.#ofNumber(1)) : undefined
    if (value.isDifferentiated && one !== undefined) this.#give(value, one)
    const passes = this.#passes(known === undefined ? undefined : last, known)
    for (let next = passes.next(); !next.done; next = passes.next(await next.value));
    if (given === undefined && one !== undefined) this.letGo(one)
  }

  /**
   * Passes the gradients of several values back while the caller waits, on an executor that computes as operations are
   * called.
   */
  passBack(seeds: readonly (readonly [value: Value, gradient: BackendTensor])[]): void {
    this.checkOpen(ACTION)
    this.#state = 'consumed'
    for (const [value, gradient] of seeds) if (value.isDifferentiated) this.#give(value, gradient)
    if (this.#passes().next().done !== true) throw new Error('A gradient of this executor is not computed at once')
  }

  /** Passes gradients from entry to entry, and frees them; a promise of gradients is awaited by the caller. */
  *#passes(first?: Entry, known: Passed['gradients'] = []): Generator<Promise<Passed>, void, Passed> {
    for (let entry = this.#entries.at(-1); entry !== undefined; entry = this.#entries.at(-1)) {
      const gradients: (BackendTensor | undefined)[] = []
      let isReached = false
      for (const result of entry.results) {
        const gradient = this.#gradients.get(result)
        gradients.push(gradient)
        isReached ||= gradient !== undefined
      }
      if (entry === first) this.#receive(entry, { gradients: known, made: [] })
      else if (isReached) {
        const passed = entry.pass(gradients)
        this.#receive(entry, passed instanceof Promise ? yield passed : passed)
      }
      for (const result of entry.results) this.#drop(result)
      for (const tensor of entry.held) this.letGo(tensor)
      entry.dispose?.()
      this.#entries.pop()
    }
  }

  /**
   * Takes tensors out of the tape, the values of `results` and the gradients of `variables`: all or none. They are the caller's,
   * who keeps the results' until the gradients are computed. A gradient is taken once; it is zero if the loss does not
   * depend on the variable.
   *
   * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_NOT_AWAITED`; RangeError `ERR_SECOND_ORDER`
   */
  take(results: readonly unknown[], variables: readonly TapeVariable[] = []): BackendTensor[] {
    this.#checkAwaited(TAKE)
    const taken = new Set<BackendTensor>()
    for (const result of results) {
      const { tensor } = this.result(TAKE, result)
      taken.add(this.#holders.has(tensor) && !taken.has(tensor) ? tensor : this.#copy(tensor))
    }
    for (const { value } of variables) taken.add(this.#gradientOf(value))
    // Until here a failure disposes them with all others.
    for (const tensor of taken) this.#holders.delete(tensor)
    return [...taken]
  }

  /**
   * The value that a function of the tape returned.
   *
   * @throws TypeError `ERR_NOT_A_TENSOR`, `ERR_NOT_AWAITED`; RangeError `ERR_SECOND_ORDER`
   */
  result(action: string, given: unknown): Value {
    const value = this.operand(action, 'the result', given)
    if (isValue(value)) return value
    throw codedTypeError(
      'ERR_NOT_A_TENSOR',
      `Cannot ${action} as the function must return a value of its tape: current value is ${describeValue(given)}`,
    )
  }

  /** Waits for work that is not awaited, and disposes everything. */
  async end(): Promise<void> {
    await Promise.allSettled(this.#pending)
    this.dispose()
  }

  dispose(): void {
    this.#state = 'disposed'
    for (const entry of this.#entries) entry.dispose?.()
    for (const tensor of this.#holders.keys()) tensor.dispose()
    for (const part of [this.#holders, this.#leaves, this.#gradients]) part.clear()
    this.#entries.length = 0
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  #leaf(tensor: BackendTensor): Value {
    let leaf = this.#leaves.get(tensor)
    if (leaf === undefined) {
      leaf = new Value(this, tensor, this.#wanted.has(tensor))
      this.#leaves.set(tensor, leaf)
    }
    return leaf
  }

  #checkAwaited(action: string): void {
    if (this.#pending.size === 0) return
    throw codedTypeError('ERR_NOT_AWAITED', `Cannot ${action} as every call on it must be awaited: one is running`)
  }

  #checkedLoss(loss: unknown, given: BackendTensor | undefined): Value {
    this.#checkAwaited(ACTION)
    const value = this.result(ACTION, loss)
    if (value.shape.length === 0 || given !== undefined) return value
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${ACTION} as the loss must have shape []: current shape is [${value.shape.join(',')}]. Return its sum or its mean`,
      { expected: [], actual: value.shape },
    )
  }

  #receive(entry: Entry, { gradients, made }: Passed): void {
    const { name, operands } = entry
    for (let k = 0; k < operands.length; k++) {
      const operand = operands[k]
      if (!operand?.isDifferentiated) continue
      const gradient = gradients[k]
      if (gradient === undefined) {
        const argument = entry.operandName(k)
        throw codedRangeError(
          'ERR_NO_GRADIENT',
          `Cannot ${ACTION} as ${name} has none with respect to ${argument}: pass t.stopGradient(${argument}) if it is a constant`,
          { operation: name, argument },
        )
      }
      this.#give(operand, gradient)
    }
    for (const tensor of made) this.letGo(tensor)
  }

  /** Adds to the gradient of a value, in place where the sum has no other holder. */
  #give(value: Value, gradient: BackendTensor): void {
    const sum = this.#gradients.get(value)
    const { ops } = this.backend
    if (sum === undefined) {
      this.hold(gradient)
      this.#gradients.set(value, gradient)
    } else if (this.#holders.get(sum) === 1) {
      ops.accumulate(sum, gradient)
    } else {
      const both = this.#copy(sum)
      ops.accumulate(both, gradient)
      this.letGo(sum)
      this.#gradients.set(value, both)
    }
  }

  #drop(value: Value): void {
    const gradient = this.#gradients.get(value)
    if (gradient === undefined) return
    this.#gradients.delete(value)
    this.letGo(gradient)
  }

  #gradientOf(variable: BackendTensor): BackendTensor {
    const leaf = this.#leaves.get(variable)
    const gradient = leaf && this.#gradients.get(leaf)
    if (leaf === undefined || gradient === undefined) return this.#zeros(variable)
    this.#gradients.delete(leaf)
    if (this.#holders.get(gradient) === 1) return gradient
    const copy = this.#copy(gradient)
    this.letGo(gradient)
    return copy
  }

  #ofNumber(number: number): BackendTensor {
    const tensor = this.backend.tensor({ data: DTYPES[this.backend.dtype].array.of(number), shape: [] })
    this.own(tensor)
    return tensor
  }

  #copy(tensor: BackendTensor): BackendTensor {
    const copy = this.#zeros(tensor)
    this.backend.ops.accumulate(copy, tensor)
    return copy
  }

  #zeros({ shape, layout }: BackendTensor): BackendTensor {
    const zeros = this.backend.zeros(shape, { layout })
    this.own(zeros)
    return zeros
  }
}
