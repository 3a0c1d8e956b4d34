import type { BackendStats } from '@cudnn-rnn/ops'
import { noteInScope } from './tensor_scope.js'
import { YoungOwners } from './young_owners.js'

type Kind = Exclude<keyof BackendStats, 'bytes'>
type Counts = { -readonly [Name in keyof BackendStats]: number }

/** Owners that wait to be registered. Few, as the largest tensors of a pass may be among them. */
const MOST_YOUNG = 64

/** One thing that a ledger counts. It has no reference to its owner, which may be collected at any time. */
export class LedgerEntry {
  readonly #counts: Counts
  readonly #collected: FinalizationRegistry<LedgerEntry>
  readonly #kind: Kind
  #bytes: number
  #isRegistered = false
  #left = false

  /** @param collected where {@link watch} registers the owner, with this entry as the token */
  constructor(counts: Counts, collected: FinalizationRegistry<LedgerEntry>, kind: Kind, bytes: number) {
    this.#counts = counts
    this.#collected = collected
    this.#kind = kind
    this.#bytes = bytes
    counts[kind]++
    counts.bytes += bytes
  }

  /** Leaves when `owner` is collected. */
  watch(owner: object): void {
    if (this.#left) return
    this.#isRegistered = true
    this.#collected.register(owner, this, this)
  }

  /** Counts `bytes` more or, negative, fewer. */
  hold(bytes: number): void {
    if (this.#left) return
    this.#bytes += bytes
    this.#counts.bytes += bytes
  }

  /** Counts it no longer. Idempotent. */
  leave(): void {
    if (this.#left) return
    this.#left = true
    this.#counts[this.#kind]--
    this.#counts.bytes -= this.#bytes
    // V8 keeps a registered owner through every collection of the young generation: disposed tensors of an inference
    // would be copied twice, and fill the old generation.
    if (this.#isRegistered) this.#collected.unregister(this)
  }
}

/**
 * Counts live objects: created, less disposed, less garbage-collected. The collector reports in a
 * separate task some time after a collection.
 */
export class Ledger {
  readonly #counts: Counts = { tensors: 0, bytes: 0, tapes: 0, rnns: 0, steppers: 0 }
  readonly #collected = new FinalizationRegistry<LedgerEntry>((entry) => entry.leave())
  readonly #young = new YoungOwners<object, LedgerEntry>(MOST_YOUNG, (owner, entry) => entry.watch(owner))

  /**
   * Counts `owner` until its entry leaves, or it is collected.
   *
   * @param isWatched the caller has the entry leave when `owner` is collected
   */
  enter(kind: Kind, owner: object, bytes = 0, isWatched = false): LedgerEntry {
    const entry = new LedgerEntry(this.#counts, this.#collected, kind, bytes)
    if (!isWatched) this.#young.add(owner, entry)
    if (kind === 'tensors' || kind === 'tapes') noteInScope(owner)
    return entry
  }

  snapshot(): BackendStats {
    return { ...this.#counts }
  }
}
