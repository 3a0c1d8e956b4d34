import {
  ASYNC_ITERABLE,
  checkArguments,
  either,
  ITERABLE,
  integerFrom,
  methods,
  OBJECT,
  type Rule,
} from '@cudnn-rnn/canonical/rules'
import { fingerprintOf } from './fingerprint.js'

/** The position of a cursor, as plain JSON: saved with a checkpoint, given back to {@link Source.open}. */
export type Position = string | number | boolean | null | readonly Position[] | { readonly [key: string]: Position }

/** An element, and the position just after it. */
export interface Item<T> {
  readonly value: T
  readonly position: Position
}

/** One pass over a source. Nothing is read before `next` requests it: that is the back-pressure. */
export interface Cursor<T> {
  /** The next element; undefined at the end. Not called again before it settles. */
  next(): Promise<Item<T> | undefined>
  /** Releases files and pending work, also while `next` waits. Idempotent. */
  close(): Promise<void>
}

/**
 * Something that can be read from the start or from a saved position, giving the same elements each time.
 *
 * @param position the position of an {@link Item} of this source; undefined for the start.
 * @param epoch counts passes of a repeated source from 0, so that a shuffle differs from pass to pass.
 */
export interface Source<T> {
  open(position: Position | undefined, epoch: number): Cursor<T>
  /** Names the elements and their order: ranks of a training whose sources differ in it are refused. Default: not known. */
  describe?(): string
}

/** The description of a source, for one that has none too. */
export function describe<T>(source: Source<T>): string {
  return source.describe?.() ?? 'elements'
}

const PLACE = integerFrom(0)

/**
 * A position that may come from a checkpoint, which another program may have written; undefined for the start.
 *
 * @throws TypeError `ERR_INVALID_ARGUMENT` unless it keeps to the rule
 */
export function savedPosition<Saved>(position: Position | undefined, rule: Rule<Saved>): Saved | undefined {
  if (position === undefined) return undefined
  checkArguments('go on in a dataset', { position }, { position: rule })
  return position as Saved
}

function savedPlace(position: Position | undefined): number {
  return savedPosition(position, PLACE) ?? 0
}

const SEQUENCE = either(ITERABLE, ASYNC_ITERABLE)
const ITERATOR = methods('an iterator', 'next')
const RESULT = { 'a result of its iterator': OBJECT }

/** A source of the elements that `read` yields; a position is the number of elements before it, skipped on the way back. */
export function countedSource<T>(read: () => AsyncIterable<T> | Iterable<T>): Source<T> {
  return {
    open(position, _epoch) {
      let count = 0
      const skip = savedPlace(position)
      const given = read()
      checkArguments('read a dataset', { 'what read() returns': given }, { 'what read() returns': SEQUENCE })
      // Not by a generator around it, whose return would wait for an element that never comes.
      const [later, now] = [given as AsyncIterable<T>, given as Iterable<T>]
      const items = later[Symbol.asyncIterator]?.() ?? now[Symbol.iterator]()
      checkArguments('read a dataset', { 'its iterator': items }, { 'its iterator': ITERATOR })
      let isOpen = true
      return {
        async next() {
          while (isOpen) {
            const result = await items.next()
            checkArguments('read a dataset', { 'a result of its iterator': result }, RESULT)
            const { done, value } = result
            isOpen &&= !done
            if (isOpen && ++count > skip) return { value: await value, position: count }
          }
          return undefined
        },
        async close() {
          if (!isOpen) return
          isOpen = false
          await items.return?.()
        },
      }
    },
  }
}

/** A source of `count()` elements that are read by index. Its position is an index, so opening at one reads no earlier element. */
export function indexedSource<T>(count: () => number, at: (index: number) => T, describe: () => string): Source<T> {
  return {
    open(position) {
      let index = savedPlace(position)
      return {
        async next() {
          if (index >= count()) return undefined
          const value = at(index++)
          return { value, position: index }
        },
        async close() {},
      }
    },
    describe,
  }
}

export function arraySource<T>(array: readonly T[]): Source<T> {
  const text = () => `array of ${array.length} elements ${fingerprintOf(array)}`
  return indexedSource(
    () => array.length,
    (index) => array[index] as T,
    text,
  )
}
