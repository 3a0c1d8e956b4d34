/** Something that holds memory until it is disposed. */
interface Disposable {
  dispose(): void
}

/** Collects the tensors of one step and disposes them at its end, also after an error. */
export class TensorScope {
  readonly #owned: Disposable[] = []

  /** Registers and returns `resource`. */
  own<Resource extends Disposable>(resource: Resource): Resource {
    this.#owned.push(resource)
    return resource
  }

  /** Registers every part of a result and returns the result. */
  ownAll<Result extends object>(result: Result): Result {
    for (const part of Object.values(result) as (Disposable | undefined)[]) if (part !== undefined) this.own(part)
    return result
  }

  /** Hands a registered resource over to the caller. */
  release<Resource extends Disposable>(resource: Resource): Resource {
    this.#owned.splice(this.#owned.indexOf(resource), 1)
    return resource
  }

  dispose(): void {
    for (const resource of this.#owned.splice(0)) resource.dispose()
  }
}
