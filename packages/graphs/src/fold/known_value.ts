import type { Elements, ElementTypeName } from '@cudnn-rnn/interop/internal'
import { CHOICES } from './open_sizes.js'

/** A value at one choice of the sizes that a file leaves open; an unknown shape is undefined, as are unknown elements. */
export interface Case {
  readonly shape?: readonly number[] | undefined
  readonly elements?: Elements | undefined
}

/** The properties of a value before a graph runs, at each of the choices of the open sizes. */
export interface Known {
  readonly type: ElementTypeName
  readonly cases: readonly Case[]
  /** Whether every element is zero, at any sizes. */
  readonly isZero: boolean
  /** Whether it may depend on an open size other than the batch. */
  readonly isOpen: boolean
}

/** A value that is the same at all open sizes. */
export interface Constant {
  readonly type: ElementTypeName
  readonly shape: readonly number[]
  readonly elements: Elements
}

/** A value that is the same at each choice; its elements are undefined where they are not looked at. */
export function sameAtAll({ type, shape, elements }: Case & Pick<Constant, 'type'>): Known {
  const isZero = elements?.every((element) => element === 0) ?? false
  return { type, isZero, isOpen: false, cases: CHOICES.map(() => ({ shape, elements })) }
}

/** A value of which nothing is known. */
export const UNKNOWN: Known = { ...sameAtAll({ type: 'float32' }), isOpen: true }

/** The constant that a value is. */
export function constantOf(known: Known | undefined): Constant | undefined {
  const [first, ...others] = known?.cases ?? []
  if (known === undefined || known.isOpen || first?.shape === undefined || first.elements === undefined)
    return undefined
  const { type } = known
  const { shape, elements } = first
  // A division by zero is left to ONNX Runtime.
  const isWritten = type.includes('float') ? !type.includes('16') : elements.every(Number.isFinite)
  const isSame = others.every(
    (other) =>
      String(other.shape) === String(shape) &&
      other.elements?.length === elements.length &&
      other.elements.every((element, place) => element === elements[place]),
  )
  return isWritten && isSame ? { type, shape, elements } : undefined
}

/** The number of a size at each choice, undefined where one is not known. */
export function sizesAt(known: Known | undefined, axis: number): readonly number[] | undefined {
  const sizes = known?.cases.flatMap(({ shape }) => shape?.[axis] ?? [])
  return sizes?.length === CHOICES.length ? sizes : undefined
}
