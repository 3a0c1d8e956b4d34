import { type AbortSignalLike, elementCount, type FloatArray } from '@cudnn-rnn/canonical'
import { codedRangeError } from '@cudnn-rnn/canonical/rules'
import type { Backend } from '@cudnn-rnn/ops'
import { isEmptyShare } from '../data/shard_stage.js'
import type { Position } from '../data/source.js'
import type { Trainable } from '../optimizers/trainable.js'
import { type BatchRows, copyRows } from './batch_rows.js'
import type { AllReduceOptions, Communicator, TensorSum } from './communicator.js'
import { gatherResults } from './gather_results.js'
import { meanOverRanks } from './mean_over_ranks.js'
import { sumThroughHost } from './sum_through_host.js'
import { shown } from './training_description.js'
import { type RankSeconds, type TrainedTensors, TrainingRanks } from './training_ranks.js'
import type { CheckRecord, RestoredRecord, TrainingRecord, TrainingSaver } from './training_saver.js'
import { type StepMeans, type TrainingStep, type TrainingStepOptions, trainingStep } from './training_step.js'

/** A failure that this rank has not yet reported to the others. */
interface Failure {
  readonly error: unknown
}

/**
 * The ranks of a communicator. Errors of one rank are known to all at their next call: the failed one rejects with its
 * error, the others with `ERR_RANK_FAILED`.
 */
export class SeveralRanks extends TrainingRanks {
  readonly #communicator: Communicator
  readonly #backend: Backend
  readonly #variables: readonly Trainable[]
  readonly #signal: AbortSignalLike | undefined
  readonly #wire: AllReduceOptions['wire']
  readonly #tensorSum: TensorSum
  readonly #seconds = { steps: 0, computing: 0, reducing: 0 }
  #failure: Failure | undefined
  #isStopping = false

  constructor(
    communicator: Communicator,
    backend: Backend,
    variables: readonly Trainable[],
    { signal, wire }: { readonly signal?: AbortSignalLike | undefined; readonly wire?: AllReduceOptions['wire'] },
  ) {
    super(signal)
    this.#communicator = communicator
    this.#backend = backend
    this.#variables = variables
    this.#signal = signal
    this.#wire = wire
    this.#tensorSum = communicator.tensorSum?.(backend) ?? sumThroughHost(backend, communicator)
  }

  override get isStopping(): boolean {
    return this.#isStopping
  }

  override wait<Result>(work: PromiseLike<Result>): PromiseLike<Result> {
    return work
  }

  override async attempt<Result>(work: () => Promise<Result> | Result): Promise<Result | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#failure ??= { error }
      return undefined
    }
  }

  override async attemptFirst(work: () => Promise<unknown> | unknown): Promise<void> {
    if (this.#isFirst) await this.attempt(work)
  }

  override async compare(description: () => Readonly<Record<string, unknown>>): Promise<void> {
    const all = await this.#gather(() => Object.entries(description()).map(([name, value]) => [name, shown(value)]))
    const [first, ...others] = all.map((entries) => new Map(entries as [string, string][]))
    for (const name of new Set([first, ...others].flatMap((each) => [...each.keys()]))) {
      const index = others.findIndex((other) => other.get(name) !== first.get(name))
      if (index < 0) continue
      const [ours, theirs] = [first, others[index]].map((each) => each.get(name) ?? 'none')
      throw codedRangeError(
        'ERR_RANKS_DIFFER',
        `Cannot train as all ranks must have the same ${name}: rank 0 has ${ours}, rank ${index + 1} has ${theirs}`,
        { difference: name, rank: index + 1 },
      )
    }
  }

  override async lock(saver: TrainingSaver | undefined): Promise<AsyncDisposable | undefined> {
    let lock: AsyncDisposable | undefined
    await this.#onFirst(async () => {
      lock = await saver?.lock?.()
    })
    return lock
  }

  /** A new run begins with the tensors of the first rank, too. */
  override async restore(
    saver: TrainingSaver | undefined,
    { shared, rows }: TrainedTensors,
    check?: CheckRecord,
    kind: 'latest' | 'best' = 'latest',
  ): Promise<RestoredRecord | undefined> {
    const counts = await this.#rowCounts(rows)
    const wholes = this.#isFirst ? this.#wholes(rows, counts) : []
    try {
      const [record] = await this.#gather(async () =>
        this.#isFirst ? ((await saver?.restore([...shared, ...wholes], kind, check)) ?? null) : null,
      )
      for (const { value } of shared) {
        const data = (await value.read()).data.slice() as FloatArray
        await this.#broadcast(data)
        if (!this.#isFirst) this.#backend.ops.assign(value, { data, shape: value.shape })
      }
      if (record === null || record === undefined) return undefined
      for (const [index, { value }] of rows.tensors.entries()) {
        const place = this.#placeOf(rows, index, counts)
        const elements = (elementCount(value.shape) / Math.max(1, place.shape[place.axis])) * place.total
        const whole = this.#isFirst ? (await wholes[index].value.read()).data.slice() : new this.#Elements(elements)
        await this.#broadcast(whole as FloatArray)
        const data = new this.#Elements(elementCount(value.shape))
        copyRows('into part', whole as FloatArray, data, place)
        this.#backend.ops.assign(value, { data, shape: value.shape })
      }
      return record
    } finally {
      for (const { value } of wholes) value.dispose()
    }
  }

  override async save(
    saver: TrainingSaver,
    kind: 'latest' | 'best',
    { shared, rows }: TrainedTensors,
    record: TrainingRecord,
  ): Promise<void> {
    const own: FloatArray[] = []
    const counts = await this.#rowCounts(rows, async () => {
      for (const { value } of rows.tensors) own.push((await value.read()).data as FloatArray)
    })
    const wholes = this.#isFirst ? this.#wholes(rows, counts) : []
    try {
      for (const [index, data] of own.entries()) {
        const parts = await this.#communicator.allGather(new Uint8Array(data.slice().buffer))
        if (this.#isFirst) this.#assignParts(wholes[index], rows, index, counts, parts)
      }
      await this.#onFirst(() => saver.save(kind, [...shared, ...wholes], record))
    } finally {
      for (const { value } of wholes) value.dispose()
    }
  }

  /** If another number of ranks has saved, rank r has the state of rank r mod their number. */
  override ownState({ extra, ranks }: TrainingRecord) {
    if (ranks === undefined) return { saved: extra, by: { rank: 0, size: 1 } }
    const rank = this.#communicator.rank % ranks
    return { saved: (extra as readonly Position[])[rank] ?? null, by: { rank, size: ranks } }
  }

  override async gatherState(own: () => Promise<Position>) {
    return { extra: await this.#gather(own), ranks: this.#communicator.size }
  }

  override async shareSignal(): Promise<void> {
    this.#isStopping = (await this.#gather(() => this.#signal?.aborted === true)).includes(true)
  }

  /**
   * The gradients are summed between the passes and the update. On an executor with `Backend.steps` nothing is read, and the
   * weights and flags of the ranks are exchanged while the device computes the passes.
   */
  override async step<Batch>(
    options: TrainingStepOptions<Batch>,
    batches: readonly Batch[],
    learningRate: number,
    before: TrainingStep | undefined,
  ): Promise<TrainingStep | undefined> {
    const began = performance.now()
    let waiting = 0
    let hasMet = false
    const timed = async <Result>(call: () => Promise<Result>): Promise<Result> => {
      const came = performance.now()
      try {
        return await call()
      } finally {
        waiting += performance.now() - came
      }
    }
    const totalWeight = async (weight: number) => {
      hasMet = true
      const isOutOfData = batches.length === 0
      const all = await timed(() =>
        this.#gather(() => ({ weight, isOutOfData, isStopping: this.#signal?.aborted === true })),
      )
      await this.#checkSameEnd(all.filter((each) => each.isOutOfData).length, isOutOfData)
      this.#isStopping = all.some((each) => each.isStopping)
      return all.reduce((total, each) => total + each.weight, 0)
    }
    if (batches.length === 0) {
      await totalWeight(0)
      return undefined
    }
    const calls = {
      totalWeight,
      tensorSum: (...given: Parameters<TensorSum>) => timed(() => this.#tensorSum(...given)),
    }
    const overRanks = async (own: StepMeans & { readonly weight: number }) =>
      await meanOverRanks(this.#backend, this.#variables, calls, own, this.#wire)
    try {
      const own = batches.filter((batch) => !isEmptyShare(batch))
      return await trainingStep({ ...options, overRanks }, own, learningRate, before)
    } catch (error) {
      if (hasMet) throw error
      this.#failure ??= { error }
      await this.#gather(() => null)
      throw error
    } finally {
      this.#seconds.steps++
      this.#seconds.reducing += waiting / 1000
      this.#seconds.computing += (performance.now() - began - waiting) / 1000
    }
  }

  /** Compares the variables first: ranks that have drifted apart evaluate different models. */
  override async evaluate(evaluate: (() => Promise<Readonly<Record<string, number>>>) | undefined) {
    await this.#compareVariables()
    if (evaluate === undefined) return undefined
    // JSON has no infinity.
    const entries = async () =>
      Object.entries(await evaluate()).map(([name, metric]) => [name, String(metric)] as const)
    const [first] = await this.#gather(entries)
    return Object.fromEntries(first.map(([name, metric]) => [name, Number(metric)]))
  }

  override async finish(): Promise<readonly RankSeconds[]> {
    return await this.#gather(() => this.#seconds)
  }

  get #isFirst(): boolean {
    return this.#communicator.rank === 0
  }

  /** Throws RangeError `ERR_RANKS_DIFFER` if the data of some ranks have ended and others' have not. */
  async #checkSameEnd(ended: number, isOutOfData: boolean): Promise<void> {
    if (ended === 0 || ended === this.#communicator.size) return
    await this.compare(() => ({ data: isOutOfData ? 'no further batch' : 'a batch' }))
  }

  /** Runs `work` on the first rank; all wait for it. */
  async #onFirst(work: () => Promise<unknown>): Promise<void> {
    await this.#gather(async () => {
      if (this.#isFirst) await work()
      return null
    })
  }

  /** Each rank's rows of every tensor; `work` runs before they are exchanged. */
  async #rowCounts({ tensors, axes }: BatchRows, work?: () => Promise<void>): Promise<readonly (readonly number[])[]> {
    if (tensors.length === 0) return []
    return await this.#gather(async () => {
      await work?.()
      return tensors.map(({ value }, index) => value.shape[axes[index]])
    })
  }

  #placeOf(
    { tensors, axes }: BatchRows,
    index: number,
    counts: readonly (readonly number[])[],
    rank = this.#communicator.rank,
  ) {
    const rows = counts.map((ofRank) => ofRank[index])
    const sum = (some: readonly number[]) => some.reduce((all, each) => all + each, 0)
    const axis = axes[index]
    const shape = tensors[index].value.shape.with(axis, rows[rank])
    return { shape, axis, from: sum(rows.slice(0, rank)), total: sum(rows) }
  }

  #wholes(rows: BatchRows, counts: readonly (readonly number[])[]): Trainable[] {
    return rows.tensors.map(({ name }, index) => {
      const { shape, axis, total } = this.#placeOf(rows, index, counts)
      return { name, value: this.#backend.zeros(shape.with(axis, total)) }
    })
  }

  #assignParts(
    { value }: Trainable,
    rows: BatchRows,
    index: number,
    counts: readonly (readonly number[])[],
    parts: readonly Uint8Array[],
  ): void {
    const data = new this.#Elements(elementCount(value.shape))
    for (const [rank, bytes] of parts.entries()) {
      const part = new this.#Elements(bytes.slice().buffer)
      copyRows('into whole', data, part, this.#placeOf(rows, index, counts, rank))
    }
    this.#backend.ops.assign(value, { data, shape: value.shape })
  }

  async #broadcast(data: FloatArray): Promise<void> {
    await this.#communicator.broadcast(new Uint8Array(data.buffer, data.byteOffset, data.byteLength))
  }

  get #Elements() {
    return this.#backend.dtype === 'float64' ? Float64Array : Float32Array
  }

  /** Refuses ranks whose variables differ in a bit. */
  async #compareVariables(): Promise<void> {
    const hashes = await this.#gather(async () => {
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

  /** Like `gatherResults`, but reports an earlier failure of this rank to the others. */
  async #gather<Result>(work: () => Promise<Result> | Result): Promise<Result[]> {
    const failure = this.#failure
    return await gatherResults(this.#communicator, () => {
      if (failure !== undefined) throw failure.error
      return work()
    })
  }
}

/** FNV-1a over 32-bit words. */
function hashOf(data: FloatArray, start: number): number {
  const words = new Int32Array(data.buffer, data.byteOffset, data.byteLength / 4)
  let hash = start ^ 0x811c9dc5
  for (let k = 0; k < words.length; k++) hash = Math.imul(hash ^ words[k], 0x01000193)
  return hash
}
