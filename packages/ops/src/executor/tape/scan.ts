import { describeValue } from '@cudnn-rnn/canonical'
import {
  checkArguments,
  checkedElsewhere,
  checkOptions,
  codedRangeError,
  codedTypeError,
  kind,
  methods,
  type OptionsOf,
  type Rule,
} from '@cudnn-rnn/canonical/rules'
import { DTYPES, isBackendTensor } from '@cudnn-rnn/ops'
import { checkSequenceLengths } from '../arguments/sequence_lengths.js'
import type { Operand } from './recording.js'
import { type GradientTape, isTapeHandle } from './tape_handle.js'
import { isValue, type Value } from './value.js'
import { isVariable } from './variables.js'

/** A value, or several by name or in a list. */
export type CellState = Value | readonly CellState[] | { readonly [name: string]: CellState }

/** A recurrent cell: one step of a batch. Its variables are `step`'s. */
export interface Cell<State extends CellState = CellState> {
  /** The state before the first step of B rows, if none is given. */
  zeroState?(t: GradientTape, batch: number): State
  /** @param x [B,…], the step of the sequence. */
  step(t: GradientTape, x: Value, state: State): { readonly output: Value; readonly state: State }
}

const OPTIONS = {
  /** The state before the first step. Default: the cell's `zeroState`. */
  state: checkedElsewhere<CellState | null | undefined>(),
  /** One length in 0..T per row, in any order. Default: T. */
  lengths: checkedElsewhere<readonly number[] | Int32Array | null | undefined>(),
}

export interface ScanOptions<State extends CellState = CellState> extends OptionsOf<typeof OPTIONS> {
  readonly state?: State | null | undefined
}

export type ScanResult<State extends CellState = CellState> = {
  /** [T,B,…], zero past each row's length. */
  readonly output: Value
  /** At each row's last valid step; a row of length 0 keeps its initial state. */
  readonly state: State
}

const ACTION = 'scan'

/**
 * Runs a cell over the steps of a sequence. Each step is a scope, which frees the tensors that no gradient reads.
 *
 * @param x [T,B,…]
 * @throws RangeError `ERR_SHAPE`, `ERR_SEQUENCE_LENGTHS`; TypeError `ERR_INVALID_ARGUMENT`,
 *   `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_TENSOR` if a step does not return values; errors of the cell
 * @example
 * ```ts
 * import { openBackend, tensor, type GradientTape, type Value, Variable } from '@cudnn-rnn/rnn'
 * import { infer, scan, zeros } from '@cudnn-rnn/rnn/train'
 *
 * const backend = await openBackend('reference')
 * const decay = new Variable(backend, backend.tensor(tensor([[0.5]])), 'decay')
 * const run = infer((t, p: typeof decay) => {
 *   const cell = {
 *     zeroState: () => t.value(zeros([1, 1])),
 *     step: (t: GradientTape, x: Value, h: Value) => {
 *       const next = t.add(t.multiply(h, p), x)
 *       return { output: next, state: next }
 *     },
 *   }
 *   return scan(t, cell, tensor([[[1]], [[1]], [[1]]])).output
 * })
 * console.log((await (await run(decay)).read()).data) // [1, 1.5, 1.75]
 * ```
 */
export function scan<State extends CellState>(
  t: GradientTape,
  cell: Cell<State>,
  x: Operand,
  options: ScanOptions<State> = {},
): ScanResult<State> {
  checkArguments(ACTION, { t, cell }, { t: tapeRule(), cell: methods('a cell with a method step', 'step') })
  const own = checkOptions(ACTION, options, OPTIONS)
  const sequence = t.value(x)
  const [time = 0, batch = 0] = sequence.shape
  if (sequence.shape.length < 2 || time === 0 || batch === 0) {
    throw codedRangeError(
      'ERR_SHAPE',
      `Cannot ${ACTION} as x must have shape [T,B,…], with one step and one row at least: current shape is [${sequence.shape.join(',')}]`,
      { argument: 'x', actual: sequence.shape },
    )
  }
  const lengths = checkSequenceLengths(ACTION, own.lengths ?? null, time, batch)
  const given = own.state ?? cell.zeroState?.(t, batch)
  let state: unknown = mapState('state', given, given, (value) => t.value(value))
  const outputs: Value[] = []
  for (const [step, input] of t.unstack(sequence).entries()) {
    const before = state
    const made = t.scope((inner) => {
      const { output, state: next } = checkedStep(cell.step(inner, input, before as State))
      if (lengths === null || lengths.every((length) => length > step)) return { output, state: next }
      const valid = ({ shape: { length: rank } }: Value) => rowsAt(inner, lengths, step, rank)
      return {
        output: inner.select(valid(output), output, 0),
        state: mapState('state', next, before, (value, old) => inner.select(valid(value as Value), value, old)),
      }
    })
    outputs.push(made.output)
    state = made.state
  }
  return { output: t.stack(outputs), state: state as State }
}

/** Rule of an argument that is a tape. */
export function tapeRule(): Rule<GradientTape> {
  return kind('the tape t of the function', (value): value is GradientTape => isTapeHandle(value))
}

function checkedStep(result: unknown): { readonly output: Value; readonly state: unknown } {
  const { output, state } = (result ?? {}) as { output?: unknown; state?: unknown }
  if (isValue(output) && state !== undefined) return { output, state }
  throw codedTypeError(
    'ERR_NOT_A_TENSOR',
    `Cannot ${ACTION} as a step of the cell must return { output, state } of values: current value is ${describeValue(result)}`,
  )
}

/** 1 in the rows that are longer than `step`, else 0, to be broadcast to a value of `rank` dimensions. */
function rowsAt({ backend }: GradientTape, lengths: Int32Array, step: number, rank: number) {
  const data = new DTYPES[backend.dtype].array(lengths.length)
  for (let row = 0; row < data.length; row++) data[row] = Number(lengths[row] > step)
  return { data, shape: [data.length, ...Array.from({ length: rank - 1 }, () => 1)] }
}

/** The structure of `state` with `make` of each value and of the one in its place in `other`. */
function mapState(
  name: string,
  state: unknown,
  other: unknown,
  make: (value: Operand, other: Operand) => Value,
): unknown {
  const isStructure = typeof state === 'object' && state !== null && !isBackendTensor(state) && !('data' in state)
  if (isValue(state) || isVariable(state) || !isStructure) return make(state as Operand, other as Operand)
  if (typeof other !== 'object' || other === null || isValue(other)) {
    throw codedTypeError(
      'ERR_NOT_A_TENSOR',
      `Cannot ${ACTION} as ${name} must have one structure at every step: current value is ${describeValue(state)}`,
    )
  }
  const parts = Object.entries(state).map(
    ([key, part]) => [key, mapState(`${name}.${key}`, part, other[key as never], make)] as const,
  )
  return Array.isArray(state) ? parts.map(([, part]) => part) : Object.fromEntries(parts)
}
