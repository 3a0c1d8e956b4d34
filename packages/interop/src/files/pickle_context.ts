import type { PickleGlobal, PickleStorage, PickleValue } from './pickle_values.js'

/**
 * Memory that values take, in bytes: a single byte of a pickle makes an empty dict, or pushes a value once more. The length
 * of a text is added.
 */
export const COSTS = Object.freeze({
  reference: 16,
  text: 48,
  list: 64,
  record: 96,
  bytes: 160,
  dict: 256,
  object: 320,
})

/** State of the opcodes: the stack, the memo and the bytes after the opcode. */
export interface PickleContext {
  push(value: PickleValue): void
  mark(): void
  pop(): PickleValue
  peek(): PickleValue
  popToMark(): PickleValue[]
  unsigned(size: 1 | 2 | 4 | 8): number
  int32(): number
  float64(): number
  take(length: number): Uint8Array
  text(length: number): string
  line(): string
  remember(index?: number): void
  recall(index: number): void
  charge(cost: number): void
  /** The name of a function or class; throws for TorchScript's. */
  global(name: string): PickleGlobal
  /** Notes a storage that the pickle names. */
  store(storage: PickleStorage): void
  /** The error of a pickle that breaks `rule`. */
  wrong(rule: string): Error
}
