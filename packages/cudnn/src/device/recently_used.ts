/** Values by key, of which the least recently used are dropped beyond a capacity. */
export class RecentlyUsed<Value> {
  /** A Map iterates in the order of insertion: setting a key again makes it the most recently used. */
  readonly #values = new Map<string, Value>()
  readonly #capacity: number
  readonly #drop: (value: Value) => void

  constructor(capacity: number, drop: (value: Value) => void) {
    this.#capacity = capacity
    this.#drop = drop
  }

  get(key: string): Value | undefined {
    const value = this.#values.get(key)
    if (value === undefined) return undefined
    this.#values.delete(key)
    this.#values.set(key, value)
    return value
  }

  /** Drops the value that `value` replaces, if there is another one. */
  set(key: string, value: Value): void {
    const replaced = this.get(key)
    this.#values.set(key, value)
    if (replaced !== undefined && replaced !== value) this.#drop(replaced)
    if (this.#values.size <= this.#capacity) return
    const [[oldest, dropped]] = this.#values
    this.remove(oldest, dropped)
  }

  /** Drops `value`, if it is still the one of `key`. */
  remove(key: string, value: Value): void {
    if (this.#values.get(key) !== value) return
    this.#values.delete(key)
    this.#drop(value)
  }

  clear(): void {
    for (const [key, value] of [...this.#values]) this.remove(key, value)
  }
}
