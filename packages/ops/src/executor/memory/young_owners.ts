/** Calls `run` at the next turn of the event loop. Browsers have no setImmediate. */
function atNextTurn(run: () => void): void {
  const { setImmediate } = globalThis as { readonly setImmediate?: (run: () => void) => void }
  if (setImmediate) setImmediate(run)
  else setTimeout(run, 0)
}

/**
 * Objects made in this turn of the event loop, which wait to be registered with a FinalizationRegistry. Registering an
 * object and taking it out again costs several times as much as making it, and most tensors of a pass are disposed in the
 * turn that makes them. An object that waits is not collected.
 */
export class YoungOwners<Owner extends object, Entry> {
  readonly #most: number
  readonly #register: (owner: Owner, entry: Entry) => void
  #isScheduled = false
  readonly #waiting: { readonly owner: Owner; readonly entry: Entry }[] = []

  /**
   * @param most number at which all that wait are registered: a loop over calls that settle in their turn never leaves it
   * @param register registers an owner, unless its entry has no need of it any more
   */
  constructor(most: number, register: (owner: Owner, entry: Entry) => void) {
    this.#most = most
    this.#register = register
  }

  /** Registers `owner` at the next turn of the event loop. */
  add(owner: Owner, entry: Entry): void {
    // Once for each turn, however many are added in it.
    if (!this.#isScheduled) {
      this.#isScheduled = true
      atNextTurn(() => {
        this.#isScheduled = false
        this.#registerAll()
      })
    }
    this.#waiting.push({ owner, entry })
    if (this.#waiting.length >= this.#most) this.#registerAll()
  }

  #registerAll(): void {
    for (const { owner, entry } of this.#waiting) this.#register(owner, entry)
    this.#waiting.length = 0
  }
}
