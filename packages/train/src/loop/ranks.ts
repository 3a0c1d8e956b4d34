import type { Backend, BackendTensor } from '@cudnn-rnn/backend'
import { codedRangeError, type FloatArray } from '@cudnn-rnn/canonical'
import { checkShape } from '@cudnn-rnn/executor-kit'
import type { Trainable } from '../optimizers/trainable.js'
import type { Communicator } from './communicator.js'
import type { RestoredRecord, TrainingSaver } from './training_saver.js'

/** A failed rank gives the others this time to come to the same call, then ends them. */
const FAILURE_SECONDS = 5

/** A failure that this rank has not yet reported to the others. */
interface Failure {
  readonly error: unknown
}

/** The sums over all ranks of one update, and the flags of the ranks. */
export interface ReducedStep {
  /** Mean over the weights of all ranks. */
  readonly loss: number
  /** A rank asks for the end of the training. */
  readonly isStopping: boolean
  /** No rank has data. */
  readonly isOutOfData: boolean
}

/** Numbers at the end of the buffer of a step. */
const CONTROLS = { loss: 0, weight: 1, stopping: 2, outOfData: 3, failed: 4 } as const
const CONTROL_COUNT = Object.keys(CONTROLS).length

/**
 * The ranks of a training. Errors of one rank are known to all at their next call: the failed one rejects with its error,
 * the others with `ERR_RANK_FAILED`.
 */
export class Ranks implements Disposable {
  readonly #communicator: Communicator
  readonly #backend: Backend
  readonly #variables: readonly Trainable[]
  readonly #gradients: readonly BackendTensor[]
  /** The gradients of all variables, then the controls. */
  readonly #buffer: FloatArray
  #failure: Failure | undefined

  constructor(communicator: Communicator, backend: Backend, variables: readonly Trainable[]) {
    this.#communicator = communicator
    this.#backend = backend
    this.#variables = variables
    this.#gradients = variables.map(({ value }) => backend.zeros(value.shape, { layout: value.layout }))
    const elements = variables.reduce((sum, { value }) => sum + elementsOf(value), 0)
    const Elements = backend.dtype === 'float64' ? Float64Array : Float32Array
    this.#buffer = new Elements(elements + CONTROL_COUNT)
  }

  get rank(): number {
    return this.#communicator.rank
  }

  get size(): number {
    return this.#communicator.size
  }

  /** Saves, logs and is heard. */
  get isFirst(): boolean {
    return this.rank === 0
  }

  /** Runs `work` here; its error is thrown at the next call that all ranks make. */
  async attempt<Result>(work: () => Promise<Result> | Result): Promise<Result | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#failure ??= { error }
      return undefined
    }
  }

  /** As {@link Ranks.attempt}, on the first rank alone. */
  async attemptFirst(work: () => Promise<unknown> | unknown): Promise<void> {
    if (this.isFirst) await this.attempt(work)
  }

  /** Runs `work` on every rank; the results of all, which must be JSON. */
  async agree<Result>(work: () => Promise<Result> | Result): Promise<Result[]> {
    const own = this.#failure === undefined ? await this.attempt(work) : undefined
    const failure = this.#failure
    const text = JSON.stringify(failure === undefined ? { own } : { failed: messageOf(failure.error) })
    const all = (await this.#withFailure(this.#communicator.allGather(new TextEncoder().encode(text)))).map(
      (bytes) => JSON.parse(new TextDecoder().decode(bytes)) as { own?: Result; failed?: string },
    )
    if (failure !== undefined) throw failure.error
    const rank = all.findIndex(({ failed }) => failed !== undefined)
    if (rank < 0) return all.map(({ own: result }) => result as Result)
    throw codedRangeError('ERR_RANK_FAILED', `Cannot go on training as rank ${rank} failed: ${all[rank].failed}`, {
      rank,
    })
  }

  /** Runs `work` on the first rank; its result, which must be JSON, on all. */
  async first<Result>(work: () => Promise<Result> | Result): Promise<Result> {
    const [result] = await this.agree(() => (this.isFirst ? work() : (null as Result)))
    return result as Result
  }

  /** Refuses ranks of which `description` differs. */
  async compare(description: Readonly<Record<string, unknown>>): Promise<void> {
    const all = await this.agree(() => Object.entries(description).map(([name, value]) => [name, shown(value)]))
    for (const [index, [name, expected]] of all[0].entries()) {
      const rank = all.findIndex((other) => other[index]?.[1] !== expected)
      if (rank < 0) continue
      const other = all[rank][index]?.[1]
      throw codedRangeError(
        'ERR_RANKS_DIFFER',
        `Cannot train as all ranks must have the same ${name}: rank 0 has ${expected}, rank ${rank} has ${other}`,
        { difference: name, rank },
      )
    }
  }

  /** Takes the lock of the first rank's saver. */
  async lock(saver: TrainingSaver | undefined): Promise<AsyncDisposable | undefined> {
    let lock: AsyncDisposable | undefined
    await this.first(async () => {
      lock = await saver?.lock?.()
      return null
    })
    return lock
  }

  /** Restores the first rank, then gives its record and its tensors to all. A new run begins with equal tensors so. */
  async restore(saver: TrainingSaver | undefined, tensors: readonly Trainable[]): Promise<RestoredRecord | undefined> {
    const record = await this.first(async () => (await saver?.restore(tensors)) ?? null)
    for (const { value } of tensors) {
      const { data } = await value.read()
      const copy = data.slice()
      await this.#communicator.broadcast(new Uint8Array(copy.buffer, copy.byteOffset, copy.byteLength))
      if (!this.isFirst) this.#backend.ops.assign(value, { data: copy, shape: value.shape })
    }
    return record ?? undefined
  }

  /** Refuses ranks whose variables differ in a bit. */
  async compareVariables(): Promise<void> {
    const hashes = await this.agree(async () => {
      let hash = 0
      for (const { value } of this.#variables) hash = hashOf((await value.read()).data as FloatArray, hash)
      return hash
    })
    const rank = hashes.findIndex((hash) => hash !== hashes[0])
    if (rank < 0) return
    throw codedRangeError(
      'ERR_RANKS_DIVERGED',
      `Cannot go on training as the variables of all ranks must be equal: those of rank ${rank} differ from those of rank 0`,
      { rank },
    )
  }

  /** Begins a step: the buffer is zero. */
  clear(): void {
    this.#buffer.fill(0)
  }

  /** Adds the mean gradients of a batch, `weight` times. */
  async add(loss: number, gradients: readonly BackendTensor[], weight: number): Promise<void> {
    const buffer = this.#buffer
    const variables = this.#variables
    if (gradients.length !== variables.length) {
      throw codedRangeError(
        'ERR_GRADIENT_COUNT',
        `Cannot add gradients as there must be one per variable (${variables.length}): current number is ${gradients.length}`,
        { expected: variables.length, actual: gradients.length },
      )
    }
    // A batch that does not count may be NaN.
    if (weight === 0) return
    let at = 0
    for (const [index, gradient] of gradients.entries()) {
      const { name, value } = variables[index]
      checkShape('add gradients', `gradient of ${name}`, gradient.shape, value.shape)
      const { data } = await gradient.read()
      for (let k = 0; k < data.length; k++) buffer[at + k] += weight * data[k]
      at += data.length
    }
    buffer[at + CONTROLS.loss] += weight * loss
    buffer[at + CONTROLS.weight] += weight
  }

  /**
   * Sums the buffers of all ranks; `gradients` are then the mean gradients over their weights.
   *
   * @throws the error of this rank; RangeError `ERR_RANK_FAILED`, `ERR_RANKS_DIFFER`
   */
  async reduce(own: { readonly isStopping: boolean; readonly isOutOfData: boolean }): Promise<ReducedStep> {
    const buffer = this.#buffer
    const controls = buffer.subarray(buffer.length - CONTROL_COUNT)
    controls[CONTROLS.stopping] = own.isStopping ? 1 : 0
    controls[CONTROLS.outOfData] = own.isOutOfData ? 1 : 0
    controls[CONTROLS.failed] = this.#failure === undefined ? 0 : 1
    await this.#withFailure(this.#communicator.allReduce(buffer))
    if (controls[CONTROLS.failed] !== 0) await this.agree(() => null)
    const ended = controls[CONTROLS.outOfData]
    if (ended !== 0 && ended !== this.size)
      await this.compare({ data: own.isOutOfData ? 'no further batch' : 'a batch' })
    const total = controls[CONTROLS.weight]
    const scale = total === 0 ? 0 : 1 / total
    let at = 0
    for (const [index, { value }] of this.#variables.entries()) {
      const data = buffer.subarray(at, at + elementsOf(value))
      for (let k = 0; k < data.length; k++) data[k] *= scale
      this.#backend.ops.assign(this.#gradients[index], { data, shape: value.shape })
      at += data.length
    }
    const loss = controls[CONTROLS.loss] * scale
    return { loss, isStopping: controls[CONTROLS.stopping] > 0, isOutOfData: ended > 0 }
  }

  /** Of the last step, the same on all ranks. */
  get gradients(): readonly BackendTensor[] {
    return this.#gradients
  }

  /** Releases the gradients; the communicator is the caller's. */
  [Symbol.dispose](): void {
    for (const gradient of this.#gradients) gradient.dispose()
  }

  /** Waits for a call; where this rank has failed, not for ranks that are elsewhere. */
  async #withFailure<Result>(call: Promise<Result>): Promise<Result> {
    const failure = this.#failure
    if (failure === undefined) return await call
    const late = setTimeout(() => this.#communicator.abort(messageOf(failure.error)), FAILURE_SECONDS * 1000)
    try {
      return await call
    } finally {
      clearTimeout(late)
    }
  }
}

function elementsOf({ shape }: BackendTensor): number {
  return shape.reduce((product, size) => product * size, 1)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

/** JSON has no infinity. */
function shown(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === 'number' ? String(each) : (each as unknown))) ?? 'none'
}

/** FNV-1a over 32-bit words. */
function hashOf(data: FloatArray, start: number): number {
  const words = new Int32Array(data.buffer, data.byteOffset, data.byteLength / 4)
  let hash = start ^ 0x811c9dc5
  for (let k = 0; k < words.length; k++) hash = Math.imul(hash ^ words[k], 0x01000193)
  return hash
}
