import type { Extent } from './extent.js'

/** A gradient with one wrong element, or with two exchanged, is off along each of them. */
const COVERING_DIRECTIONS = 3

/**
 * Vectors of length 1 along which a gradient of `length` elements is compared with differences. All: the axis of each element.
 * Covering: a few vectors whose elements differ from each other.
 */
export function directionsOf(length: number, extent: Extent): readonly Float64Array[] {
  if (extent === 'all') {
    return Array.from({ length }, (_, axis) => new Float64Array(length).fill(1, axis, axis + 1))
  }
  return Array.from({ length: COVERING_DIRECTIONS }, (_, number) => {
    const vector = Float64Array.from({ length }, (_, k) => Math.sin((k + 1) ** 2 + number))
    const norm = Math.hypot(...vector)
    return vector.map((value) => value / norm)
  })
}

/** The slope of a function of `gradient` along `direction`. */
export function slopeAlong(gradient: ArrayLike<number>, direction: ArrayLike<number>): number {
  return Array.from(gradient).reduce((sum, value, index) => sum + value * direction[index], 0)
}
