import { describeValue } from '@cudnn-rnn/canonical'
import { codedTypeError } from '@cudnn-rnn/canonical/rules'
import type { FloatDType } from '@cudnn-rnn/ops'
import { checkFloatTensor, type FloatTensor, zeros } from './float_tensor.js'

/** TensorFlow's `LSTMStateTuple`: c before h, whereas the Cudnn models have h before c. */
export type LSTMStateTuple<Leaf = FloatTensor> = {
  readonly c: Leaf
  readonly h: Leaf
}

/** A leaf, an LSTM's pair of them, or a stack's list. */
export type StateTree<Leaf> = Leaf | LSTMStateTuple<Leaf> | readonly StateTree<Leaf>[]

/** The state of a cell: tensors [B, size] in the cell's structure. */
export type CellState = StateTree<FloatTensor>

/** The same structure with the number of columns in place of each tensor. */
export type StateSize = StateTree<number>

/** Applies `f` to corresponding leaves of trees of one structure; a leaf is named by its path ("state[1].h"). */
export function mapState<Leaf, Result>(
  trees: readonly StateTree<Leaf>[],
  f: (leaves: readonly Leaf[], path: string) => Result,
  path = 'state',
): StateTree<Result> {
  const [first] = trees
  if (Array.isArray(first)) {
    const lists = trees as readonly (readonly StateTree<Leaf>[])[]
    return first.map((_, k) =>
      mapState(
        lists.map((list) => list[k]),
        f,
        `${path}[${k}]`,
      ),
    )
  }
  if (isTuple(first)) {
    const tuples = trees as readonly LSTMStateTuple<Leaf>[]
    return {
      c: f(
        tuples.map(({ c }) => c),
        `${path}.c`,
      ),
      h: f(
        tuples.map(({ h }) => h),
        `${path}.h`,
      ),
    }
  }
  return f(trees as readonly Leaf[], path)
}

/** The leaves of a tree in their order, an LSTM's c before its h. */
export function leavesOf<Leaf>(tree: StateTree<Leaf>): Leaf[] {
  const leaves: Leaf[] = []
  mapState<Leaf, number>([tree], ([leaf]) => leaves.push(leaf))
  return leaves
}

/** The state in which a sequence begins when the caller gives none. */
export function zeroState(size: StateSize, batch: number, dtype: FloatDType): CellState {
  return mapState([size], ([columns]) => zeros(dtype, [batch, columns]))
}

/**
 * Checks that `state` has the structure of `size` and tensors [B, size].
 *
 * @returns the state as it was read here, once: to be used in the argument's place.
 * @throws TypeError `ERR_STATE_STRUCTURE`; the errors of {@link checkFloatTensor}
 */
export function checkState(
  action: string,
  state: CellState,
  size: StateSize,
  batch: number,
  dtype: FloatDType,
  path = 'state',
): CellState {
  const check = (leaf: FloatTensor, name: string, columns: number) =>
    checkFloatTensor(action, name, leaf, dtype, [batch, columns])
  return checkStateTree(action, state, size, check, path)
}

/** Checks that `state` has the structure of `size`, and its leaves by `check`. Throws TypeError `ERR_STATE_STRUCTURE`. */
export function checkStateTree<Leaf, Checked>(
  action: string,
  state: StateTree<Leaf>,
  size: StateSize,
  check: (leaf: Leaf, path: string, columns: number) => Checked,
  path = 'state',
): StateTree<Checked> {
  if (Array.isArray(size)) {
    if (!Array.isArray(state) || state.length !== size.length) {
      throw structureError(action, path, `a list of ${size.length} states, one per cell`, state)
    }
    return size.map((part, k) => checkStateTree(action, state[k], part, check, `${path}[${k}]`))
  }
  if (isTuple(size)) {
    if (!isTuple(state)) throw structureError(action, path, 'a pair { c, h }', state)
    const part = (name: 'c' | 'h') => check(state[name] as Leaf, `${path}.${name}`, size[name] as number)
    return { c: part('c'), h: part('h') }
  }
  if (Array.isArray(state) || isTuple(state)) throw structureError(action, path, 'one tensor', state)
  return check(state as Leaf, path, size as number)
}

function isTuple(node: unknown): node is LSTMStateTuple<unknown> {
  return typeof node === 'object' && node !== null && 'c' in node && 'h' in node
}

function structureError(action: string, path: string, rule: string, state: unknown) {
  const current = Array.isArray(state)
    ? `a list of ${state.length}`
    : isTuple(state)
      ? 'a pair { c, h }'
      : describeValue(state)
  return codedTypeError(
    'ERR_STATE_STRUCTURE',
    `Cannot ${action} as ${path} must be ${rule}: current value is ${current}`,
    { argument: path, expected: rule },
  )
}
