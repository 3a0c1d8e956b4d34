import {
  checkArguments,
  codedRangeError,
  FUNCTION,
  hasMember,
  integerFrom,
  refuseOtherMethods,
} from '@cudnn-rnn/canonical/rules'
import { type Backend, type BackendTensor, type DenseOps, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { withEnd } from '../memory/with_end.js'
import { CHECKED_ROWS } from '../operations/checked_row.js'
import type { OPERATIONS } from '../operations/table.js'
import { GradientOperations } from './gradient_operations.js'
import type { Operand, Recording } from './recording.js'
import { callRow } from './row_call.js'
import { isValue, type Value } from './value.js'

/** The type of an operand on a tape, from its type in the executor's operation. */
type OnTape<Argument> = Argument extends TensorLike
  ? Operand
  : Argument extends readonly TensorLike[]
    ? readonly Operand[]
    : Argument
type OperationOnTape<Operation> = Operation extends (...given: infer Given) => infer Result
  ? (
      ...given: { [Place in keyof Given]: OnTape<Given[Place]> }
    ) => Extract<Result, Promise<unknown>> extends never ? Value : Promise<Value>
  : never
type OperationName = Exclude<keyof typeof OPERATIONS, 'phasedGate'>

/** The operations of a tape: all of `backend.ops` that make one tensor, on values. */
export type TapeOperations = { readonly [Name in OperationName]: OperationOnTape<NonNullable<DenseOps[Name]>> }

/** A tape: records operations, owns every tensor that they make, and passes gradients back. */
export type GradientTape = TapeHandle & TapeOperations

/** The methods of a tape that are not operations. */
export class TapeHandle {
  /** For the calls of models and layers. */
  readonly recording: Recording
  /** Values that this scope made. */
  readonly made: Value[] = []

  constructor(recording: Recording) {
    if (!hasRows) addRows()
    this.recording = recording
  }

  get backend(): Backend {
    return this.recording.backend
  }

  /** Whether gradients are computed: dropout drops. */
  get isTraining(): boolean {
    return this.recording.isTraining
  }

  /**
   * An operand as a value: a variable, or a constant that several operations take.
   *
   * @throws as `backend.tensor`; RangeError `ERR_SECOND_ORDER`; TypeError `ERR_NOT_AWAITED`, `ERR_FOREIGN_TENSOR`
   */
  value(x: Operand): Value {
    return this.#value('make a value', x)
  }

  /** The same elements as a constant, through which no gradient passes. */
  stopGradient(x: Operand): Value {
    return this.recording.alias(this.#value('stop a gradient', x), false, this.made)
  }

  /** The parts of the first dimension, which `t.stack` joins again. Throws RangeError `ERR_SHAPE` for a scalar. */
  unstack(x: Operand): Value[] {
    return unstack(this.recording, this.#value('unstack', x), this.made)
  }

  /**
   * Blocks of as many columns each, such as the gates of a cell, which `t.concat` joins again.
   *
   * @param parts their number, by which the columns are divisible
   * @throws RangeError `ERR_SHAPE`, `ERR_INVALID_OPTION`; TypeError `ERR_INVALID_ARGUMENT`
   */
  split(x: Operand, parts: number): Value[] {
    return split(this.recording, this.#value('split', x), parts, this.made)
  }

  /**
   * Runs `body` with its own handle, and disposes everything that it made but the values that it returns and the tensors
   * that gradients will read. Layers and steps of `scan` are scopes.
   *
   * @throws errors of `body`; TypeError `ERR_INVALID_ARGUMENT`
   */
  scope<Result>(body: (t: GradientTape) => Result): Result {
    this.recording.checkOpen('open a scope')
    if (typeof body !== 'function') checkArguments('open a scope', { body }, { body: FUNCTION })
    const inner = new TapeHandle(this.recording)
    const result = withEnd(body, (value) => this.#close(inner, value), inner as GradientTape)
    return result instanceof Promise ? (this.recording.pending(result) as Result) : result
  }

  /** Frees a value of this scope before its end, where nothing but gradients reads it any more. */
  free(x: Value): void {
    const place = this.made.lastIndexOf(x)
    if (place === -1) return
    this.made.splice(place, 1)
    this.recording.letGo(x.tensor)
  }

  #value(action: string, x: unknown): Value {
    this.recording.checkOpen(action)
    return this.recording.value(action, 'x', x, this.made)
  }

  #close(inner: TapeHandle, result: unknown): void {
    let isKept = (value: Value) => value === result
    if (!isValue(result)) {
      const kept = new Set<Value>()
      noteValues(result, kept, new Set())
      isKept = (value) => kept.has(value)
    }
    for (const value of inner.made) {
      if (isKept(value)) this.made.push(value)
      else this.recording.letGo(value.tensor)
    }
    inner.made.length = 0
  }
}

/** Calls to write on a tape, with the names that other libraries have for them. */
const OTHER_METHODS = {
  "t.activate(x, 'NAME')": 'sigmoid tanh relu elu softplus softmax',
  "t.activate(x, 'sigmoid'), of a product with x for silu": 'silu swish',
  't.linear(x, kernel, bias), or t.matmul(x, kernel)': 'dense mm dot matMul',
  't.add(a, b)': 'plus add_',
  't.subtract(a, b)': 'sub minus',
  't.multiply(a, b)': 'mul times',
  't.divide(a, b)': 'div',
  't.power(x, exponent)': 'pow',
  't.negate(x)': 'neg',
  't.minimum(t.maximum(x, low), high)': 'clip clamp clipByValue',
  't.negate(t.max(t.negate(x)))': 'min',
  't.select(isChosen, a, b)': 'where',
  't.concat([a, b]), which joins columns': 'cat concatenate',
  't.reshape(x, shape)': 'view squeeze unsqueeze expandDims flatten',
  't.transpose(x, order)': 'permute',
  't.slice(x, begins, sizes)': 'gather',
  't.sum(x, { axes, keepDims })': 'reduceSum',
  't.mean(x, { axes, keepDims })': 'reduceMean',
  "t.elementLoss(x, targets, 'squared_error'), or t.mean(t.square(t.subtract(x, targets)))":
    'mse mseLoss meanSquaredError',
  't.softmaxCrossEntropy(logits, labels)': 'crossEntropy sparseCategoricalCrossentropy',
  "t.elementLoss(logits, targets, 'sigmoid_cross_entropy')": 'bce binaryCrossEntropy sigmoidCrossEntropy',
  't.broadcast(x, shape)': 'tile repeat expand',
  't.stopGradient(x)': 'detach',
  't.value(tensor)': 'constant',
  'return the loss: valueAndGrad and fit compute its gradients': 'backward minimize',
}

let hasRows = false

/** Adds a method for each row but gradients' and devices': with the first tape, so that bundlers can leave tapes out. */
function addRows(): void {
  hasRows = true
  const gradients = new Set(CHECKED_ROWS.map(({ gradient }) => gradient))
  for (const checked of CHECKED_ROWS) {
    if (checked.row.isOfDevices || gradients.has(checked)) continue
    Object.defineProperty(TapeHandle.prototype, checked.name, {
      value(this: TapeHandle, ...given: readonly unknown[]) {
        return callRow(this.recording, this.made, checked, given)
      },
    })
  }
  refuseOtherMethods(TapeHandle.prototype, 'a tape', OTHER_METHODS)
}

/** The handle of a function's tape. */
export function handleOf(recording: Recording): GradientTape {
  return new TapeHandle(recording) as GradientTape
}

/** Whether a value is a tape, of any copy of the package. */
export function isTapeHandle(value: unknown): value is TapeHandle {
  return hasMember(value, 'stopGradient')
}

/** Adds to `values` each that `result` is or holds. */
function noteValues(result: unknown, values: Set<Value>, seen: Set<unknown>): void {
  if (typeof result !== 'object' || result === null || seen.has(result)) return
  seen.add(result)
  if (isValue(result)) values.add(result)
  else if (!isBackendTensor(result) && !ArrayBuffer.isView(result)) {
    for (const part of Object.values(result)) noteValues(part, values, seen)
  }
}

/** How parts are taken out of a tensor, and joined again. */
interface Parting {
  readonly name: string
  readonly count: number
  /** A part's shape. */
  readonly shape: readonly number[]
  readonly part: (ops: DenseOps, k: number) => BackendTensor
  readonly joined: (ops: DenseOps, parts: readonly BackendTensor[]) => BackendTensor
}

/**
 * The parts of the first dimension.
 *
 * @param made receives the parts
 */
function unstack(recording: Recording, x: Value, made: Value[]): Value[] {
  const name = 'unstack'
  const [count, ...shape] = x.shape
  if (count === undefined) throw shapeError(name, 'x must have shape [N1,…]', x)
  const part = (ops: DenseOps, k: number) => {
    using row = ops.slice(x.tensor, [k, ...shape.map(() => 0)], [1, ...shape])
    return ops.reshape(row, shape)
  }
  return inParts(recording, x, { name, count, shape, part, joined: (ops, parts) => ops.stack(parts) }, made)
}

/**
 * Blocks of as many columns each.
 *
 * @param made receives the blocks
 */
function split(recording: Recording, x: Value, count: number, made: Value[]): Value[] {
  const name = 'split'
  checkArguments(name, { parts: count }, { parts: integerFrom(1) })
  const columns = (x.shape.at(-1) ?? Number.NaN) / count
  if (!Number.isInteger(columns)) throw shapeError(name, `the columns of x must be divisible by parts ${count}`, x)
  const shape = [...x.shape.slice(0, -1), columns]
  const part = (ops: DenseOps, k: number) => ops.columns(x.tensor, k * columns, columns)
  return inParts(recording, x, { name, count, shape, part, joined: (ops, parts) => ops.concat(parts) }, made)
}

/** Passes back one gradient for all parts: with `slice`, each part would have a gradient of the whole tensor. */
function inParts(recording: Recording, x: Value, { name, count, shape, part, joined }: Parting, made: Value[]) {
  const { ops } = recording.backend
  const results = Array.from({ length: count }, (_, k) => recording.newValue(part(ops, k), x.isDifferentiated, made))
  if (!x.isDifferentiated) return results
  const operations = GradientOperations.of(recording.backend)
  recording.add({
    ...{ name, operands: [x], results, held: [] },
    operandName: () => 'x',
    pass(given) {
      const { result, made: tensors } = operations.run(recording, () =>
        joined(
          operations.ops,
          given.map((gradient): BackendTensor => gradient ?? operations.zeros(shape)),
        ),
      )
      return { gradients: [result], made: tensors }
    },
  })
  return results
}

function shapeError(name: string, rule: string, { shape }: Value) {
  return codedRangeError('ERR_SHAPE', `Cannot ${name} as ${rule}: current shape is [${shape.join(',')}]`, {
    argument: 'x',
    actual: shape,
  })
}
