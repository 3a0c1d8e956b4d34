import type { BackendTensor, TrainingSteps } from '@cudnn-rnn/backend'
import type { CudnnExecutor } from './cudnn_executor.js'
import type { Append, DirectLane, Gatherer } from './device_session.js'
import { issuedBuffer, makeCall, PlannedBuffer, plannedBuffer } from './gathered_call.js'
import type { Buffer, Descriptor, NativeAddon } from './native_addon.js'
import { StepGraph } from './step_graph.js'
import { StepLog } from './step_log.js'
import { StepTrace } from './step_trace.js'

/** Forms of steps that are remembered; ragged batches make a new one for every set of lengths. */
const MOST_TRACES = 12

/**
 * Training steps whose calls are gathered first and issued together. What comes again in the same form is captured as a
 * CUDA graph and replayed; whatever differs in anything but buffers and scalars is issued as the calls it is. So a step
 * need not be pure, nor be told to be repeated: it is compared, every time.
 */
export class CudnnTrainingSteps implements TrainingSteps, Gatherer {
  readonly #executor: CudnnExecutor
  readonly #guarded: TrainingSteps['whereFinite']
  readonly #native: NativeAddon
  /** The most recently used last. */
  readonly #traces: StepTrace[] = []
  #log: StepLog
  #underWay = 0
  #captures = 0
  /** What is to be let go of when no capture needs it any more. */
  readonly #late: (() => void)[] = []
  readonly #issued: Promise<unknown>[] = []

  constructor(executor: CudnnExecutor, whereFinite: TrainingSteps['whereFinite']) {
    this.#executor = executor
    this.#guarded = whereFinite
    this.#log = this.#newLog()
    this.#native = this.#gatheringAddon()
    executor.session.gatherer = this
  }

  get isGathering(): boolean {
    return this.#underWay > 0
  }

  async run<Result>(step: () => Promise<Result>): Promise<Result> {
    this.#executor.memory.life.check('run a step')
    if (this.#executor.graphs === 'never') return step()
    this.#underWay++
    let result: Result
    try {
      result = await step()
    } catch (error) {
      // What the step met first is what counts.
      await this.#end().catch(() => {})
      throw error
    }
    await this.#end()
    return result
  }

  whereFinite(scalars: readonly BackendTensor[], updates: () => void): void {
    this.#guarded(scalars, updates)
  }

  append(action: string | undefined, append: Append, onFailure?: () => void): void {
    const { session } = this.#executor
    this.#log.append(action, onFailure, () => session.appendTo(this.#native, append))
  }

  /** Issues what was gathered, in one way or another. */
  flush(): void {
    const log = this.#log
    if (log.isEmpty) return
    this.#log = this.#newLog()
    const trace = this.#traceOf(log)
    const next = trace.next(log)
    if (next === 'replay') this.#replay(trace, log)
    else if (next === 'capture') this.#capture(trace, log)
    else this.#issue(this.#executor.session.direct, log, trace)
  }

  release(buffer: Buffer): void {
    const planned = plannedBuffer(buffer)
    if (planned !== undefined && planned.issued === undefined) {
      if (!planned.isForgotten) this.#log.release(planned)
      return
    }
    const issued = issuedBuffer(buffer)
    this.#whenUnused(() => {
      // A graph that uses it must not keep it.
      for (const trace of this.#traces) if (trace.graph?.baked.includes(issued)) trace.drop()
      this.#executor.session.native.release(issued)
    })
  }

  releaseDescriptor(descriptor: Descriptor): void {
    this.#whenUnused(() => this.#executor.session.native.releaseDescriptor(descriptor))
  }

  dispose(): void {
    for (const trace of this.#traces.splice(0)) trace.drop()
  }

  /** Ends one `run`; rejects with what the calls gathered in it met. */
  async #end(): Promise<void> {
    if (--this.#underWay === 0) this.flush()
    // What cannot be captured is issued, and awaited, after that was found out.
    while (this.#issued.length > 0) await Promise.all(this.#issued.splice(0))
  }

  #newLog(): StepLog {
    return new StepLog((buffer) => this.#executor.session.bytesOf(buffer))
  }

  /** Now, or once what was gathered was issued and no capture is under way. */
  #whenUnused(release: () => void): void {
    if (this.#log.isEmpty && this.#captures === 0) release()
    else this.#late.push(release)
  }

  #letGo(): void {
    if (this.#log.isEmpty && this.#captures === 0) for (const release of this.#late.splice(0)) release()
  }

  #traceOf(log: StepLog): StepTrace {
    const traces = this.#traces
    const known = traces.findIndex((trace) => trace.fits(log))
    const [trace] = known < 0 ? [new StepTrace(log, this.#executor.graphs === 'measured')] : traces.splice(known, 1)
    traces.push(trace!)
    if (traces.length > MOST_TRACES) traces.shift()!.drop()
    return trace!
  }

  /** Issues the calls as they were gathered, batch by batch, so that memory comes and goes as without gathering. */
  #issue({ step }: DirectLane, log: StepLog, trace?: StepTrace): void {
    const { native } = this.#executor.session
    const isTimed = trace?.awaitsTimes('calls') === true
    const last = log.batches.length - 1
    let stop: Append | undefined
    for (const [k, { action, onFailure, entries, released }] of log.batches.entries()) {
      const append: Append = (addon, handle) => {
        if (isTimed && k === 0) {
          const timer = addon.startTimer(handle)
          stop = () => addon.stopTimer(handle, timer)
        }
        for (const entry of entries) {
          if (!(entry instanceof PlannedBuffer)) makeCall(addon, handle, entry, issuedBuffer)
          else entry.issued ??= this.#executor.session.allocate(entry.bytes)
        }
        if (k === last) stop?.(addon, handle)
      }
      const lane = k === 0 ? step.first : step.later
      if (k < last && action === undefined) lane.post(append)
      else {
        // The last batch tells what the ones before it met.
        const issued = lane.run(action ?? 'run a step', append)
        this.#await(isTimed && k === last ? issued.then(([time]) => trace.timed('calls', time!)) : issued, onFailure)
      }
      for (const { issued } of released) native.release(issued!)
    }
    this.#letGo()
  }

  /** Captures the calls and replays them at once; issues them where they cannot be captured. */
  #capture(trace: StepTrace, log: StepLog): void {
    const { session, memory } = this.#executor
    // What is still held of the results exists from now on, as calls that come meanwhile may use it.
    const room = session.direct.run('make room for a step', () => this.#makeResults(log))
    this.#captures++
    const captured = session.hold('capture a step', async (urgent) => {
      await room
      try {
        const changing = (external: number) => trace.isChanging(external)
        trace.captured(await StepGraph.capture(session, urgent, log, { dtype: memory.dtype, changing }))
      } catch {
        trace.captureFailed()
        return this.#issue(urgent, log)
      }
      const replayed = urgent.run('replay a step', () => trace.graph!.appendReplay(log))
      if (!this.#traces.includes(trace)) trace.drop()
      await replayed.catch((error: unknown) => {
        trace.refuse()
        throw error
      })
    })
    room.catch(() => {})
    this.#await(
      captured.finally(() => {
        this.#captures--
        this.#letGo()
      }),
    )
  }

  #replay(trace: StepTrace, log: StepLog): void {
    const isTimed = trace.awaitsTimes('graph')
    const replayed = this.#executor.session.direct.run('replay a step', (native, handle) => {
      const timer = isTimed ? native.startTimer(handle) : undefined
      this.#makeResults(log)
      trace.graph!.appendReplay(log)
      if (timer !== undefined) native.stopTimer(handle, timer)
    })
    this.#await(
      replayed.then(
        ([milliseconds]) => {
          if (isTimed) trace.timed('graph', milliseconds!)
        },
        (error: unknown) => {
          trace.refuse()
          throw error
        },
      ),
    )
    this.#letGo()
  }

  /** Appends the allocation of what is still held of the calls' results. */
  #makeResults(log: StepLog): void {
    for (const buffer of log.planned) {
      if (!buffer.isReleased) buffer.issued ??= this.#executor.session.allocate(buffer.bytes)
    }
  }

  /** Has `run` wait for `issued`, and tell its failure. */
  #await(issued: Promise<unknown>, onFailure?: () => void): void {
    issued.catch(() => onFailure?.())
    this.#issued.push(issued)
  }

  /** The addon whose calls are gathered; what makes descriptors goes through. */
  #gatheringAddon(): NativeAddon {
    const { session, kernels } = this.#executor
    const gathering: Partial<NativeAddon> = {
      allocate: (_, bytes) => this.#log.allocate(bytes).handle,
      upload: (_, to, offset, from) => {
        const buffer = plannedBuffer(to)!
        // The array may change after this call: it is read now, into memory that nothing gathered uses yet.
        session.direct.post((native, handle) => {
          const issued = session.allocate(buffer.bytes)
          native.upload(handle, issued, offset, from)
          this.#log.upload(buffer, issued)
        })
      },
      copy: (_, ...args) => this.#log.call('copy', args),
      clear: (_, ...args) => this.#log.call('clear', args),
      rnnForward: (_, ...args) => this.#log.call('rnnForward', args),
      rnnBackwardData: (_, ...args) => this.#log.call('rnnBackwardData', args),
      rnnBackwardWeights: (_, ...args) => this.#log.call('rnnBackwardWeights', args),
      matrixProduct: (_, ...args) => this.#log.call('matrixProduct', args),
      launch: (_, kernel, ...args) => this.#log.launch(kernels.signatureOf(kernel), [kernel, ...args]),
    }
    return Object.assign(Object.create(session.native), gathering) as NativeAddon
  }
}
