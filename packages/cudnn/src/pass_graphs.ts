import type { CudnnExecutor } from './cudnn_executor.js'
import type { TapeContents } from './cudnn_tape.js'
import type { DeviceBuffer } from './device_buffer.js'
import type { Append, Lane } from './device_session.js'
import { MOST_GRAPH_BYTES } from './graph_limits.js'
import { type GraphTrial, timed } from './graph_trial.js'
import type { Graph } from './native_addon.js'
import { PassBuffers } from './pass_buffers.js'
import type {
  BackwardBuffers,
  BackwardOperand,
  ForwardBuffers,
  ForwardOperand,
  Given,
  RnnPasses,
} from './rnn_passes.js'
import type { RnnPlan } from './rnn_plan.js'
import type { PassTrials } from './rnn_planner.js'

/** Captures that may fail: another executor that synchronises the device meanwhile is a reason to try again. */
const MOST_FAILED_CAPTURES = 3

/** The operands of a forward that are copied into a graph's buffers. */
type CopiedOperand = Exclude<ForwardOperand, 'params' | 'weights'>

/** A captured batch: the fixed buffers it reads, and those it writes. */
interface Captured<Operand extends string, Result> {
  readonly graph: Graph
  readonly inputs: Given<Operand>
  readonly result: Result
  readonly buffers: PassBuffers
}

/**
 * The passes of one plan as CUDA graphs: one launch replaces the hundreds of a small pass, whose launching is what takes
 * the time. Addresses in a graph are fixed, so operands are copied into its buffers and results out of them; the
 * parameters, which are large and updated in place, are read where they are.
 *
 * In training the forward's graph holds one reserve space: the tape borrows it, and a forward that finds it lent runs
 * without a graph.
 */
export class PassGraphs {
  readonly #executor: CudnnExecutor
  readonly #passes: RnnPasses
  readonly #plan: RnnPlan
  #params: DeviceBuffer | undefined
  #forward: Captured<CopiedOperand, ForwardBuffers> | undefined
  #backward: Captured<BackwardOperand, BackwardBuffers> | undefined
  /** Undefined where graphs are used whatever they take. */
  readonly trials: PassTrials | undefined
  #isLent = false
  #isRefused: boolean
  #isBackwardRefused = false
  #failedCaptures = 0
  #forwards = 0
  #lastParams: DeviceBuffer | undefined

  constructor(executor: CudnnExecutor, passes: RnnPasses, plan: RnnPlan, trials: PassTrials | undefined) {
    this.#executor = executor
    this.trials = trials
    this.#passes = passes
    this.#plan = plan
    const { x, y } = passes.elements(plan.sizes)
    const bytes = plan.reserveBytes + 2 * (x + y) * executor.arithmetic.bytes
    const isPossible = executor.graphs !== 'never' && plan.isReplayable && bytes <= MOST_GRAPH_BYTES
    this.#isRefused = !isPossible || trials?.forward.isLost === true
    this.#isBackwardRefused = trials?.backward.isLost === true
  }

  /** What the next forward over these parameters should do. Every call counts as a forward. */
  next(given: Given<ForwardOperand>): 'replay' | 'capture' | 'run' {
    const params = readInPlace(given)
    if (!this.#isRefused && this.trials?.forward.isLost) {
      // A tape that is out keeps its buffers.
      this.#isRefused = true
      this.release()
    }
    if (this.#isRefused || this.#isLent) return 'run'
    if (this.#forward !== undefined && this.#params === params) return 'replay'
    const isRepeated = this.#lastParams === params
    this.#lastParams = params
    // The first pass, which made the plan, was cuDNN's warm-up; a graph is worth its making from the third on.
    if (++this.#forwards < 2 || !isRepeated || this.trials?.forward.awaits('calls')) return 'run'
    return 'capture'
  }

  /** Captures the forward, where the queue is held. What cannot be captured runs as it is from then on. */
  async captureForward(lane: Lane, given: Given<ForwardOperand>): Promise<void> {
    const { params, weights } = given
    this.release()
    const { x, h, c } = this.#passes.elements(this.#plan.sizes)
    this.#forward = await this.#capture(lane, { input: x, inputH: h, inputC: c }, (inputs, buffers) =>
      this.#passes.appendForward(this.#plan, { ...inputs, params, weights }, buffers),
    )
    if (this.#forward !== undefined) this.#params = readInPlace(given).retain()
  }

  /** Queues a replay of the forward; in training lends its buffers to the tape that is to come. */
  async replayForward(lane: Lane, given: Given<ForwardOperand>, made: PassBuffers): Promise<ForwardBuffers> {
    const { graph, inputs, result } = this.#forward!
    // Lent before the queue is done with it: the next call may come at once.
    this.#isLent = this.#plan.training
    try {
      const outputs = await this.#replay(lane, graph, inputs, given, this.trials?.forward, () => ({
        output: this.#copyOf(result.output, made),
        outputH: this.#copyOf(result.outputH, made),
        outputC: result.outputC && this.#copyOf(result.outputC, made),
      }))
      return { ...result, ...outputs, graphs: this.#plan.training ? this : undefined }
    } catch (error) {
      this.#isLent = false
      throw error
    }
  }

  /** True where the backward must be captured first, while the queue is held. */
  get awaitsBackward(): boolean {
    return this.#backward === undefined && !this.#isRefused && !this.#isBackwardRefused
  }

  /** Queues the backward of the forward that was replayed, capturing it at the first time. */
  async backward(
    lane: Lane,
    contents: TapeContents,
    given: Given<BackwardOperand>,
    made: PassBuffers,
  ): Promise<BackwardBuffers> {
    if (this.awaitsBackward) {
      const { y, h, c } = this.#passes.elements(this.#plan.sizes)
      this.#backward = await this.#capture(lane, { output: y, outputH: h, outputC: c }, (inputs, buffers) =>
        this.#passes.appendBackward(this.#plan, contents.buffers, inputs, buffers),
      )
    }
    if (this.#backward === undefined) return this.#passes.backward(lane, contents, given, made)
    const { graph, inputs, result } = this.#backward
    const gradients = await this.#replay(lane, graph, inputs, given, this.trials?.backward, () => ({
      input: this.#copyOf(result.input, made),
      inputH: this.#copyOf(result.inputH, made),
      inputC: result.inputC && this.#copyOf(result.inputC, made),
      params: this.#copyOf(result.params, made),
    }))
    if (this.trials?.backward.isLost) this.#refuseBackward()
    return gradients
  }

  /** Takes the buffers back from a tape. */
  giveBack(): void {
    this.#isLent = false
  }

  release(): void {
    this.#drop(this.#forward)
    this.#drop(this.#backward)
    this.#params?.release()
    this.#forward = undefined
    this.#backward = undefined
    this.#params = undefined
  }

  #refuseBackward(): void {
    this.#isBackwardRefused = true
    this.#drop(this.#backward)
    this.#backward = undefined
  }

  #drop(captured: Captured<string, unknown> | undefined): void {
    if (captured === undefined) return
    this.#executor.session.releaseGraph(captured.graph)
    captured.buffers.release()
  }

  async #capture<Operand extends string, Result>(
    lane: Lane,
    sizes: Readonly<Record<Operand, number>>,
    append: (inputs: Given<Operand>, buffers: PassBuffers) => Result,
  ): Promise<Captured<Operand, Result> | undefined> {
    const buffers = new PassBuffers()
    const inputs: Partial<Record<Operand, DeviceBuffer | undefined>> = {}
    let captured: Captured<Operand, Result> | undefined
    try {
      await this.#passes.issue(lane, 'capture a pass', (native, handle) => {
        for (const [name, elements] of Object.entries<number>(sizes)) {
          // The cell state of cells that have none.
          if (name.endsWith('C') && this.#plan.descriptors.c === null) continue
          inputs[name as Operand] = buffers.own(this.#executor.memory.allocate(elements))
        }
        native.beginCapture(handle)
        const result = append(inputs as Given<Operand>, buffers)
        captured = { graph: this.#executor.session.endCapture(), inputs: inputs as Given<Operand>, result, buffers }
      })
      return captured
    } catch {
      if (captured !== undefined) this.#executor.session.releaseGraph(captured.graph)
      buffers.release()
      if (++this.#failedCaptures >= MOST_FAILED_CAPTURES) this.#isRefused = true
      return undefined
    }
  }

  /** Copies operands in (zeros for absent ones), launches, and copies results out. */
  async #replay<Operand extends string, Result>(
    lane: Lane,
    graph: Graph,
    inputs: Given<Operand>,
    given: Given<Operand>,
    trial: GraphTrial | undefined,
    results: () => Result,
  ): Promise<Result> {
    let result: Result | undefined
    try {
      const append: Append = (native, handle) => {
        for (const [name, fixed] of Object.entries<DeviceBuffer | undefined>(inputs)) {
          if (fixed === undefined) continue
          const operand = given[name as Operand]
          if (operand === undefined) native.clear(handle, fixed.handle, 0, fixed.bytes)
          else native.copy(handle, fixed.handle, 0, operand.handle, 0, fixed.bytes)
        }
        native.launchGraph(handle, graph, this.#params!.handle)
        result = results()
      }
      if (trial?.awaits('graph')) trial.note('graph', await timed(lane, 'replay a pass', append))
      else await lane.run('replay a pass', append)
    } catch (error) {
      // The fixed buffers carry the error now: leave them.
      this.#isRefused = true
      throw error
    }
    return result!
  }

  #copyOf(buffer: DeviceBuffer, made: PassBuffers): DeviceBuffer {
    const { memory, session } = this.#executor
    const copy = made.own(memory.allocateBytes(buffer.bytes))
    session.native.copy(session.handle, copy.handle, 0, buffer.handle, 0, buffer.bytes)
    return copy
  }
}

/** What a graph reads where it is: the parameters, in one element type or the other. */
function readInPlace({ params, weights }: Given<ForwardOperand>): DeviceBuffer {
  return weights ?? params!
}
