import type { Dimension } from '../arguments/tensor_arguments.js'
import { broadcastShape } from './walk.js'

/**
 * An operand or a result as text: its check, its type, its error message and its documentation at once.
 *
 *     name [T,B,E]         floating; a letter is a size that is the same wherever it stands, a digit is that size
 *     name […,E]           any leading dimensions, the same wherever … stands
 *     name […,E*]          a size that need not be the same
 *     name […*]            any shape
 *     name [~]             a shape that broadcasts with the others, by NumPy's rule
 *     name? [B]            may be absent: undefined or null
 *     name... […,E*]       a list of one tensor or more
 *     name:0..V-1 […]      int32, class ids below V; name:0..T are lengths up to T
 *     record.name [U]      a field of an argument
 *
 * In results a word is the value of an option: a size, or all dimensions.
 */
export interface Pattern {
  /** In messages. */
  readonly name: string
  /** In kernels. */
  readonly key: string
  readonly isOptional: boolean
  readonly isList: boolean
  /** The size that bounds its integers, which are class ids below it or lengths up to it; absent for floating tensors. */
  readonly bound: { readonly slot: number; readonly isBelow: boolean } | undefined
  readonly hasLeading: boolean
  /** Any shape, or one that broadcasts; then the pattern has no dimensions. */
  readonly free: 'any' | 'broadcast' | undefined
  /** Without the leading ones. */
  readonly dims: readonly Dim[]
}

interface Dim {
  /** Name in messages; for a result, also the name of an option. */
  readonly letter: string
  /** The place in {@link Sizes}, or -1. */
  readonly slot: number
  readonly size: number | undefined
}

/** Letters of patterns, in the order of their slots, and their names in kernels. */
const SIZE_NAMES = {
  '…': 'rows',
  T: 'time',
  B: 'batch',
  E: 'columns',
  I: 'inputs',
  O: 'outputs',
  V: 'classes',
  U: 'units',
  K: 'classes',
} as const
type SizeNames = typeof SIZE_NAMES
const LETTERS = Object.keys(SIZE_NAMES)

const NAMES: readonly string[] = Object.values(SIZE_NAMES)

/** The name of a slot's size in kernels. */
export function sizeName(slot: number): string {
  return NAMES[slot]
}

export function slotOf(name: string): number {
  return NAMES.indexOf(name)
}

const PATTERN = /^([\w.]*\w)(\?|\.{3})?(?::0\.\.(\w)(-1)?)? \[(.*)\]$/

/** Undefined for the name of an option. */
export function parsePattern(text: string): Pattern | undefined {
  const [, name, suffix, bound, below, list] = PATTERN.exec(text) ?? []
  if (name === undefined || list === undefined) return undefined
  const free = list === '…*' ? 'any' : list === '~' ? 'broadcast' : undefined
  const dims = list === '' || free !== undefined ? [] : list.split(',')
  const hasLeading = free !== undefined || dims[0] === '…'
  return {
    name,
    key: name.slice(name.lastIndexOf('.') + 1),
    isOptional: suffix === '?',
    isList: suffix === '...',
    bound: bound === undefined ? undefined : { slot: LETTERS.indexOf(bound), isBelow: below !== undefined },
    hasLeading,
    free,
    dims: (dims[0] === '…' ? dims.slice(1) : dims).map((dim) => ({
      letter: dim.replace('*', ''),
      slot: LETTERS.indexOf(dim),
      size: /^\d+$/.test(dim) ? Number(dim) : undefined,
    })),
  }
}

/** The sizes of one call by their slots, -1 if they are not known; and the leading dimensions. */
export interface Sizes {
  readonly slots: number[]
  /**
   * A shape that begins with them, and how many they are; of operands that broadcast the shape to which they do. Copies of
   * frozen arrays take longer than all checks.
   */
  leading: readonly number[] | undefined
  rank: number
}

// Loops over arrays that make no objects: small operations are called a million times a second.

export function noSizes(): Sizes {
  return { slots: [-1, -1, -1, -1, -1, -1, -1, -1, -1], leading: undefined, rank: 0 }
}

/** Sizes by the names of kernels. */
export function numbersOf({ slots }: Sizes): Numbers {
  return {
    rows: slots[0],
    time: slots[1],
    batch: slots[2],
    columns: slots[3],
    inputs: slots[4],
    outputs: slots[5],
    classes: Math.max(slots[6], slots[8]),
    units: slots[7],
  }
}

/** The elements of an operand or a result, by the sizes of a call. */
export function countOf({ hasLeading, dims }: Pattern, numbers: Numbers): number {
  let count = hasLeading ? numbers['rows'] : 1
  for (let k = 0; k < dims.length; k++) count *= dims[k].size ?? numbers[NAMES[dims[k].slot]]
  return count
}

/** Sizes and options of a call. */
// biome-ignore lint/suspicious/noExplicitAny: options have any type
export type Numbers = Record<string, any>

/** Whether `shape` fits; then the sizes that are new are noted. */
export function bindShape({ hasLeading, free, dims }: Pattern, shape: readonly number[], sizes: Sizes): boolean {
  const { slots, leading } = sizes
  if (free !== undefined && leading !== undefined) {
    if (free === 'any') return true
    const both = broadcastShape(leading, shape)
    sizes.leading = both ?? leading
    sizes.rank = sizes.leading.length
    return both !== undefined
  }
  const first = shape.length - dims.length
  if (hasLeading ? first < 0 : first !== 0) return false
  if (hasLeading && leading !== undefined) {
    if (sizes.rank !== first) return false
    for (let k = 0; k < first; k++) if (leading[k] !== shape[k]) return false
  }
  for (let k = 0; k < dims.length; k++) {
    const { slot, size } = dims[k]
    const known = slot === -1 ? (size ?? -1) : slots[slot]
    if (known !== -1 && known !== shape[first + k]) return false
  }
  for (let k = 0; k < dims.length; k++) if (dims[k].slot !== -1) slots[dims[k].slot] = shape[first + k]
  if (hasLeading && leading === undefined) {
    sizes.leading = shape
    sizes.rank = first
    let rows = 1
    for (let k = 0; k < first; k++) rows *= shape[k]
    slots[0] = rows
  }
  return true
}

/** The shape that `shape` must have had, by the sizes that are known. */
export function expectedShape(
  { hasLeading, dims }: Pattern,
  shape: readonly number[],
  { slots, leading, rank }: Sizes,
): readonly Dimension[] {
  const first = shape.length - dims.length
  // Leading dimensions that are free are N1, N2 and so on; if the last ones are missing, it is their number.
  const open = first < 0 ? ['…'] : Array.from({ length: first }, (_, axis) => `N${axis + 1}`)
  const last = dims.map(({ letter, slot, size }) => size ?? (slot === -1 || slots[slot] === -1 ? letter : slots[slot]))
  return hasLeading ? [...(leading?.slice(0, rank) ?? open), ...last] : last
}

export function resultShape(
  { hasLeading, dims }: Pattern,
  { slots, leading = [], rank }: Sizes,
  numbers: Numbers,
): readonly number[] {
  const shape: number[] = []
  for (let k = 0; hasLeading && k < rank; k++) shape.push(leading[k])
  for (let k = 0; k < dims.length; k++) {
    const { slot, size, letter } = dims[k]
    const given = size ?? (slot === -1 ? numbers[letter] : slots[slot])
    if (typeof given === 'number') shape.push(given)
    else shape.push(...given)
  }
  return shape
}

/** Sizes for examples and tests. */
export const EXAMPLE_SIZES: Readonly<Record<string, number>> = Object.freeze({
  ...{ T: 4, B: 2, E: 3, I: 3 },
  ...{ O: 5, V: 6, U: 5, K: 3 },
})

/** A shape of an operand, by sizes of its letters; any shape is a square matrix's, which products take too. */
export function exampleShape(
  { hasLeading, free, dims }: Pattern,
  sizes: Readonly<Record<string, number>>,
  leading: readonly number[],
): readonly number[] {
  if (free === 'any') return [sizes['E'], sizes['E']]
  const last = dims.map(({ letter, size }) => size ?? sizes[letter])
  return hasLeading ? [...leading, ...last] : last
}

type Head<Text extends string> = Text extends `${infer Name} [${string}` ? Name : never
type Unbounded<Name extends string> = Name extends `${infer Own}:0..${string}` ? Own : Name
type Bare<Name extends string> = Name extends `${infer Own}?` | `${infer Own}...` ? Own : Name
type LastOf<Name extends string> = Name extends `${string}.${infer Own}` ? Own : Name
type SplitDims<Dims extends string> = Dims extends `${infer First},${infer Rest}` ? First | SplitDims<Rest> : Dims

/** The key of a pattern; never for the name of an option. */
export type KeyOf<Text extends string> = LastOf<Bare<Unbounded<Head<Text>>>>
export type IsOptional<Text extends string> = Unbounded<Head<Text>> extends `${string}?` ? true : false
export type IsList<Text extends string> = Unbounded<Head<Text>> extends `${string}...` ? true : false
/** The sizes that follow from patterns, by the names of kernels. */
export type SizesOf<Text extends string> = {
  readonly [Letter in keyof SizeNames &
    SplitDims<Text extends `${string}[${infer Dims}]` ? Dims : never> as SizeNames[Letter]]: number
}
