import { fingerprintOf } from './fingerprint.js'
import type { Source } from './source.js'

/** The elements of an array, in order; a position is an index, reached without reading earlier elements. */
export function arraySource<T>(array: readonly T[]): Source<T> {
  return {
    open(position) {
      let index = typeof position === 'number' ? position : 0
      return {
        async next() {
          if (index >= array.length) return undefined
          const value = array[index++] as T
          return { value, position: index }
        },
        async close() {},
      }
    },
    describe: () => `array of ${array.length} elements ${fingerprintOf(array)}`,
  }
}
