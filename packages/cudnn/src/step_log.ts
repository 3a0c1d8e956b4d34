import {
  GATHERED_FUNCTIONS,
  type GatheredArgument,
  type GatheredCall,
  LAUNCH_ARGUMENTS,
  PARAMETER_ARGUMENTS,
  PlannedBuffer,
  plannedBuffer,
} from './gathered_call.js'
import type { Buffer, Kernel } from './native_addon.js'

/** Calls that stand or fall together, in their order. */
export interface GatheredBatch {
  /** "run forward": completes "Cannot … as …" where it fails; undefined where its buffers alone tell. */
  readonly action: string | undefined
  readonly onFailure: (() => void) | undefined
  readonly entries: (GatheredCall | PlannedBuffer)[]
  /** Let go of after the batch. */
  readonly released: PlannedBuffer[]
}

const PLANNED = Symbol('planned')
const EXTERNAL = Symbol('external')
const ALLOCATED = Symbol('allocated')
const UPLOADED = Symbol('uploaded')
const RELEASED = Symbol('released')

/**
 * Calls gathered and not made yet. Beside the calls it notes their *form*: everything about them but which buffers from
 * outside they use and which scalars they pass. Two logs of one form do the same.
 */
export class StepLog {
  readonly batches: GatheredBatch[] = []
  readonly form: unknown[] = []
  readonly planned: PlannedBuffer[] = []
  /** Buffers from outside, in the order of their first use. */
  readonly externals: Buffer[] = []
  /** Indices of the external buffers that are written. */
  readonly written = new Set<number>()
  readonly scalars: number[] = []
  readonly #bytesOf: (buffer: Buffer) => number
  readonly #externalIndices = new Map<Buffer, number>()

  /** @param bytesOf the size of a buffer from outside */
  constructor(bytesOf: (buffer: Buffer) => number) {
    this.#bytesOf = bytesOf
  }

  get isEmpty(): boolean {
    return this.batches.length === 0
  }

  /** Gathers what `append` calls as one batch; takes all of it back where it throws. */
  append(action: string | undefined, onFailure: (() => void) | undefined, append: () => void): void {
    const { form, planned, externals, scalars, batches } = this
    const before = [form.length, planned.length, externals.length, scalars.length] as const
    batches.push({ action, onFailure, entries: [], released: [] })
    try {
      append()
    } catch (error) {
      batches.pop()
      for (const buffer of planned.splice(before[1])) buffer.isForgotten = true
      for (const buffer of externals.splice(before[2])) this.#externalIndices.delete(buffer)
      for (const index of this.written) if (index >= before[2]) this.written.delete(index)
      form.length = before[0]
      scalars.length = before[3]
      onFailure?.()
      throw error
    }
  }

  allocate(bytes: number): PlannedBuffer {
    const buffer = new PlannedBuffer(bytes, this.planned.length)
    this.planned.push(buffer)
    this.form.push(ALLOCATED, bytes)
    this.#entries.push(buffer)
    return buffer
  }

  /** Notes that `buffer`, fresh from {@link allocate}, was filled from a host array. */
  upload(buffer: PlannedBuffer, issued: Buffer): void {
    buffer.issued = issued
    buffer.isUploaded = true
    this.form.push(UPLOADED, buffer.index)
  }

  /** Notes that nobody outside the log holds `buffer` any more. */
  release(buffer: PlannedBuffer): void {
    buffer.isReleased = true
    this.form.push(RELEASED, buffer.index)
    this.batches.at(-1)!.released.push(buffer)
  }

  call(name: keyof typeof GATHERED_FUNCTIONS, args: readonly GatheredArgument[]): void {
    this.#note(name, GATHERED_FUNCTIONS[name], args)
  }

  launch(signature: string, args: readonly [Kernel, ...GatheredArgument[]]): void {
    const parameters = Array.from(signature, (letter) => PARAMETER_ARGUMENTS[letter])
    this.#note('launch', LAUNCH_ARGUMENTS + parameters.join(''), args)
  }

  get #entries(): GatheredBatch['entries'] {
    return this.batches.at(-1)!.entries
  }

  #note(name: GatheredCall['name'], kinds: string, args: readonly GatheredArgument[]): void {
    this.#entries.push({ name, kinds, args, firstScalar: this.scalars.length })
    this.form.push(name)
    for (const [k, arg] of args.entries()) {
      const kind = kinds[k]
      if (kind === 's') this.scalars.push(arg as number)
      else if ((kind === 'r' || kind === 'w') && arg !== null) this.#noteBuffer(arg as Buffer, kind === 'w')
      else this.form.push(arg)
    }
  }

  #noteBuffer(handle: Buffer, isWritten: boolean): void {
    const planned = plannedBuffer(handle)
    if (planned !== undefined) {
      this.form.push(PLANNED, planned.index)
      return
    }
    let index = this.#externalIndices.get(handle)
    if (index === undefined) {
      index = this.externals.push(handle) - 1
      this.#externalIndices.set(handle, index)
    }
    if (isWritten) this.written.add(index)
    this.form.push(EXTERNAL, index, this.#bytesOf(handle))
  }
}
