import { type Backend, isBackendTensor } from '@cudnn-rnn/backend'
import { type AbortSignalLike, codedRangeError, type FloatArray } from '@cudnn-rnn/canonical'
import { isEmptyShare } from '../data/shard_stage.js'
import type { Position } from '../data/source.js'
import type { Trainable } from '../optimizers/trainable.js'
import { clipGradients } from './clip_gradients.js'
import type { Communicator } from './communicator.js'
import { checkedResult, weightOf } from './gradient_accumulator.js'
import { GradientSum } from './gradient_sum.js'
import type { RankSeconds, TrainingRanks } from './training_ranks.js'
import type { RestoredRecord, TrainingRecord, TrainingSaver } from './training_saver.js'
import type { StepOutcome, TrainingStep, TrainingStepOptions } from './training_step.js'

/** A failed rank gives the others this time to come to the same call, then ends them. */
const FAILURE_SECONDS = 5

/** A failure that this rank has not yet reported to the others. */
interface Failure {
  readonly error: unknown
}

/**
 * The ranks of a communicator. Errors of one rank are known to all at their next call: the failed one rejects with its
 * error, the others with `ERR_RANK_FAILED`.
 */
export class SeveralRanks implements TrainingRanks {
  readonly #communicator: Communicator
  readonly #backend: Backend
  readonly #variables: readonly Trainable[]
  readonly #signal: AbortSignalLike | undefined
  readonly #sum: GradientSum
  readonly #seconds = { computing: 0, reducing: 0 }
  #failure: Failure | undefined
  #isStopping = false

  constructor(
    communicator: Communicator,
    backend: Backend,
    variables: readonly Trainable[],
    signal: AbortSignalLike | undefined,
  ) {
    this.#communicator = communicator
    this.#backend = backend
    this.#variables = variables
    this.#signal = signal
    this.#sum = new GradientSum(backend, variables)
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  async attempt<Result>(work: () => Promise<Result> | Result): Promise<Result | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#failure ??= { error }
      return undefined
    }
  }

  async attemptFirst(work: () => Promise<unknown> | unknown): Promise<void> {
    if (this.#isFirst) await this.attempt(work)
  }

  async compare(description: () => Readonly<Record<string, unknown>>): Promise<void> {
    const all = await this.#gather(() => Object.entries(description()).map(([name, value]) => [name, shown(value)]))
    const [first, ...others] = all.map((entries) => new Map(entries as [string, string][]))
    for (const [name, expected] of first) {
      const index = others.findIndex((other) => other.get(name) !== expected)
      if (index < 0) continue
      throw codedRangeError(
        'ERR_RANKS_DIFFER',
        `Cannot train as all ranks must have the same ${name}: rank 0 has ${expected}, rank ${index + 1} has ${others[index].get(name)}`,
        { difference: name, rank: index + 1 },
      )
    }
  }

  async lock(saver: TrainingSaver | undefined): Promise<AsyncDisposable | undefined> {
    let lock: AsyncDisposable | undefined
    await this.onFirst(async () => {
      lock = await saver?.lock?.()
    })
    return lock
  }

  /** A new run begins with the tensors of the first rank, too. */
  async restore(saver: TrainingSaver | undefined, tensors: readonly Trainable[]): Promise<RestoredRecord | undefined> {
    const [record] = await this.#gather(async () => (this.#isFirst ? ((await saver?.restore(tensors)) ?? null) : null))
    for (const { value } of tensors) {
      const { data } = await value.read()
      const copy = data.slice()
      await this.#communicator.broadcast(new Uint8Array(copy.buffer, copy.byteOffset, copy.byteLength))
      if (!this.#isFirst) this.#backend.ops.assign(value, { data: copy, shape: value.shape })
    }
    return record ?? undefined
  }

  /** Where another number of ranks has saved, rank r has the state of rank r mod their number. */
  ownState({ extra, ranks }: TrainingRecord) {
    if (ranks === undefined) return { saved: extra, by: { rank: 0, size: 1 } }
    const rank = this.#communicator.rank % ranks
    return { saved: (extra as readonly Position[])[rank] ?? null, by: { rank, size: ranks } }
  }

  async gatherState(own: () => Promise<Position>) {
    return { extra: await this.#gather(own), ranks: this.#communicator.size }
  }

  async onFirst(work: () => Promise<unknown>): Promise<void> {
    await this.#gather(async () => {
      if (this.#isFirst) await work()
      return null
    })
  }

  async shareSignal(): Promise<void> {
    this.#isStopping = (await this.#gather(() => this.#signal?.aborted === true)).includes(true)
  }

  async step<Batch>(
    options: TrainingStepOptions<Batch>,
    batches: readonly Batch[],
    learningRate: number,
  ): Promise<TrainingStep | undefined> {
    const sum = this.#sum
    const began = performance.now()
    sum.clear()
    await this.attempt(async () => {
      for (const batch of batches) if (!isEmptyShare(batch)) await this.#addBatch(options, batch)
    })
    const computed = performance.now()
    await this.#reduce(batches.length === 0)
    this.#seconds.computing += (computed - began) / 1000
    this.#seconds.reducing += (performance.now() - computed) / 1000
    if (sum.count('outOfData') > 0) return undefined
    const loss = sum.takeMeans()
    using norm = clipGradients(options.backend, sum.gradients, options)
    const gradientNorm = (await norm.read()).data[0]
    const skipped = !(Number.isFinite(gradientNorm) && Number.isFinite(loss))
    if (!skipped) options.optimizer.apply(sum.gradients, learningRate)
    const outcome: StepOutcome = { loss, gradientNorm, skipped }
    return { isKnown: true, outcome: async () => outcome }
  }

  /** Compares the variables first: ranks that have drifted apart evaluate different models. */
  async evaluate(evaluate: (() => Promise<Readonly<Record<string, number>>>) | undefined) {
    await this.#compareVariables()
    if (evaluate === undefined) return undefined
    // JSON has no infinity.
    const entries = async () =>
      Object.entries(await evaluate()).map(([name, metric]) => [name, String(metric)] as const)
    const [first] = await this.#gather(entries)
    return Object.fromEntries(first.map(([name, metric]) => [name, Number(metric)]))
  }

  async finish(): Promise<readonly RankSeconds[]> {
    return await this.#gather(() => this.#seconds)
  }

  /** The communicator is the caller's. */
  [Symbol.dispose](): void {
    this.#sum[Symbol.dispose]()
  }

  get #isFirst(): boolean {
    return this.#communicator.rank === 0
  }

  async #addBatch<Batch>({ batchGradients }: TrainingStepOptions<Batch>, batch: Batch): Promise<void> {
    const result = checkedResult(await batchGradients(batch))
    const tensors = [result.loss, ...result.gradients].filter(isBackendTensor)
    try {
      const loss = isBackendTensor(result.loss) ? (await result.loss.read()).data[0] : result.loss
      await this.#sum.add(loss, result.gradients, weightOf(batch, result))
    } finally {
      for (const tensor of tensors) tensor.dispose()
    }
  }

  /** Sums the gradients of all ranks, and the flags. Throws the error of this rank; RangeError `ERR_RANK_FAILED`, `ERR_RANKS_DIFFER`. */
  async #reduce(isOutOfData: boolean): Promise<void> {
    const sum = this.#sum
    if (this.#signal?.aborted === true) sum.raise('stopping')
    if (isOutOfData) sum.raise('outOfData')
    if (this.#failure !== undefined) sum.raise('failed')
    await this.#withFailure(this.#communicator.allReduce(sum.buffer))
    if (sum.count('failed') > 0) await this.#gather(() => null)
    const ended = sum.count('outOfData')
    if (ended !== 0 && ended !== this.#communicator.size) {
      await this.compare(() => ({ data: isOutOfData ? 'no further batch' : 'a batch' }))
    }
    this.#isStopping = sum.count('stopping') > 0
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

  /** Runs `work` on every rank; the results of all, which must be JSON. */
  async #gather<Result>(work: () => Promise<Result> | Result): Promise<Result[]> {
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
