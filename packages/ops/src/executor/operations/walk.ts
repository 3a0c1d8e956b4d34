import { elementCount } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'

/** Groups of dimensions that kernels iterate over. */
export const GROUPS = 4
/** What one tensor has in a {@link Walk}: the place of its first element, then its stride in each group. */
const VIEW_NUMBERS = 1 + GROUPS

/** The places of a tensor's elements: the first one, and the distance of neighbors in each dimension, 0 if it repeats. */
export interface View {
  readonly begin: number
  readonly strides: readonly number[]
}

/**
 * One loop over tensors of any shape. Neighboring dimensions that every tensor has evenly spaced are one group; there are
 * {@link GROUPS} of them, of which the last is the innermost, and those in front may have size 1. In numbers: the sizes, then for
 * each tensor, the result first, where it begins and its strides.
 */
export type Walk = readonly number[]

/** The elements of a walk. */
export function walkCount(walk: Walk): number {
  let count = 1
  for (let group = 0; group < GROUPS; group++) count *= walk[group]
  return count
}

/** The start of a tensor's numbers. */
export function viewOffset(tensor: number): number {
  return GROUPS + tensor * VIEW_NUMBERS
}

/** A walk over `tensors` tensors that have their elements in the same order. */
export function flatWalk(count: number, tensors: number): number[] {
  const walk = [1, 1, 1, count]
  for (let tensor = 0; tensor < tensors; tensor++) walk.push(0, 0, 0, 0, 1)
  return walk
}

/**
 * The walk over a shape, by the views of its tensors.
 *
 * @throws RangeError `ERR_SHAPE` if it has more than {@link GROUPS} groups
 */
export function walkOf(action: string, shape: readonly number[], views: readonly View[]): Walk {
  // Zero elements have no neighbors.
  if (elementCount(shape) === 0) return flatWalk(0, views.length)
  const walk = flatWalk(1, views.length)
  for (let k = 0; k < views.length; k++) {
    walk[viewOffset(k)] = views[k].begin
    walk[viewOffset(k) + GROUPS] = 0
  }
  let group = GROUPS
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const size = shape[axis]
    if (size === 1) continue
    let continues = group < GROUPS
    for (let k = 0; continues && k < views.length; k++) {
      continues = views[k].strides[axis] === walk[viewOffset(k) + 1 + group] * walk[group]
    }
    if (continues) {
      walk[group] *= size
      continue
    }
    if (group === 0) throw tooManyGroups(action, shape)
    walk[--group] = size
    for (let k = 0; k < views.length; k++) walk[viewOffset(k) + 1 + group] = views[k].strides[axis]
  }
  return walk
}

function tooManyGroups(action: string, shape: readonly number[]): Error {
  return codedRangeError(
    'ERR_SHAPE',
    `Cannot ${action} as the dimensions [${shape.join(',')}] must form ${GROUPS} groups at most: neighbors are one where they are treated alike`,
    { expected: GROUPS, actual: shape },
  )
}

/** A tensor's elements in their order. */
export function viewOf(shape: readonly number[]): View {
  const strides: number[] = []
  let stride = 1
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    strides[axis] = stride
    stride *= shape[axis]
  }
  return { begin: 0, strides }
}

/** A tensor of `shape`, repeated to `target` by NumPy's rule: aligned at the last dimension, a size of 1 repeats. */
export function repeatedView(shape: readonly number[], target: readonly number[]): View {
  const { strides } = viewOf(shape)
  const first = target.length - shape.length
  return {
    begin: 0,
    strides: target.map((_, axis) => (axis < first || shape[axis - first] === 1 ? 0 : strides[axis - first])),
  }
}

/** The part of a tensor that begins at `begins`. */
export function partView(shape: readonly number[], begins: readonly number[]): View {
  const { strides } = viewOf(shape)
  return { strides, begin: strides.reduce((sum, stride, axis) => sum + stride * begins[axis], 0) }
}

/** The shape to which both repeat, or undefined if they do not fit. */
export function broadcastShape(a: readonly number[], b: readonly number[]): readonly number[] | undefined {
  if (isSameShape(a, b)) return a
  const [long, short] = a.length >= b.length ? [a, b] : [b, a]
  const first = long.length - short.length
  const shape = [...long]
  for (const [axis, size] of short.entries()) {
    const other = long[first + axis]
    if (size !== other && size !== 1 && other !== 1) return undefined
    shape[first + axis] = other === 1 ? size : other
  }
  return shape
}

export function isSameShape(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false
  for (let axis = 0; axis < a.length; axis++) if (a[axis] !== b[axis]) return false
  return true
}
