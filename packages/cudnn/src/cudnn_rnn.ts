import {
  DTYPES,
  isBackendTensor,
  type Rnn,
  type RnnForwardInputs,
  type RnnForwardResult,
  type RnnInputGradients,
  type RnnOutputGradients,
  type Tape,
  type TensorLike,
} from '@cudnn-rnn/backend'
import {
  type CanonicalParams,
  type FloatArray,
  flatLayout,
  Inspectable,
  layoutKey,
  type ParamLayout,
  packCanonical,
  type RnnDescriptor,
  type Summary,
  unpackCanonical,
} from '@cudnn-rnn/canonical'
import {
  allocating,
  checkBackwardArguments,
  checkForwardArguments,
  checkOwnTape,
  checkParams,
  type LedgerEntry,
  Lifetime,
  OperandVersions,
  rnnSummary,
} from '@cudnn-rnn/executor-kit'
import type { CudnnExecutor } from './cudnn_executor.js'
import { CudnnTape, type TapeContents } from './cudnn_tape.js'
import type { CudnnTensor } from './cudnn_tensor.js'
import type { Lane } from './device_session.js'
import { checkDropoutStateLength } from './dropout_states.js'
import { PassBuffers } from './pass_buffers.js'
import { PassGraphs } from './pass_graphs.js'
import {
  type BackwardBuffers,
  type BackwardOperand,
  type ForwardBuffers,
  type ForwardOperand,
  type Given,
  RnnPasses,
} from './rnn_passes.js'
import { PlanCache, type RnnPlan } from './rnn_plan.js'
import { RnnPlanner } from './rnn_planner.js'

/** A network on cuDNN. Its opaque layout is the flat canonical one, which every plan compares with cuDNN's own. */
export class CudnnRnn extends Inspectable implements Rnn {
  readonly descriptor: RnnDescriptor
  readonly paramsSize: number
  readonly #executor: CudnnExecutor
  readonly #layout: ParamLayout
  readonly #life: Lifetime
  readonly #planner: RnnPlanner
  readonly #entry: LedgerEntry
  readonly #passes: RnnPasses
  readonly #graphs = new WeakMap<RnnPlan, PassGraphs>()

  constructor(executor: CudnnExecutor, descriptor: RnnDescriptor) {
    super()
    this.#executor = executor
    this.descriptor = descriptor
    this.#layout = flatLayout(descriptor)
    this.paramsSize = this.#layout.size
    this.#life = new Lifetime('rnn', executor.memory.life)
    this.#planner = new RnnPlanner(executor, descriptor, this.#layout)
    this.#passes = new RnnPasses(executor, descriptor, this.#layout)
    this.#entry = executor.memory.ledger.enter('rnns', this)
  }

  canonicalToParams(canonical: CanonicalParams): CudnnTensor {
    this.#life.check('convert canonical parameters')
    const { memory } = this.#executor
    const flat = packCanonical(this.#layout, canonical, new DTYPES[memory.dtype].array(this.paramsSize) as FloatArray)
    return memory.fromHost({ data: flat, shape: [this.paramsSize] }, memory.dtype, layoutKey(this.descriptor))
  }

  async paramsToCanonical(params: TensorLike): Promise<CanonicalParams> {
    const action = 'convert opaque parameters'
    this.#life.check(action)
    const { memory } = this.#executor
    const given = checkParams(action, memory, this.descriptor, this.paramsSize, params)
    const { data } = isBackendTensor(given) ? await given.read() : given
    return allocating(action, () => unpackCanonical(this.#layout, data as FloatArray), data.byteLength)
  }

  async forward(inputs: RnnForwardInputs): Promise<RnnForwardResult> {
    const action = 'run forward'
    this.#life.check(action)
    const { memory } = this.#executor
    const checked = checkForwardArguments(memory, this.descriptor, this.paramsSize, inputs)
    const { sizes, training } = checked
    const versions = new OperandVersions({ ...checked.operands })
    const operands = new PassBuffers()
    const result = new PassBuffers()
    try {
      const given = {
        ...this.#passes.operands(operands, { ...checked.operands }),
        weights: operands.own(this.#passes.sharedWeights(checked.operands.params, training)),
      }
      const dropout = this.#planner.makeDropout(training)
      const key = PlanCache.key(sizes, training)
      const known = this.#planner.known(key) ?? this.#planner.planNow(key, sizes, training)
      const passed = await this.#queueForward(known, given, result, (urgent) =>
        this.#planner.plan(urgent, key, sizes, training, dropout),
      )
      const outputs = this.#passes.outputs(sizes, passed)
      versions.note('output', outputs.output)
      return { ...outputs, tape: training ? this.#tape(passed, versions) : undefined }
    } finally {
      operands.release()
      result.release()
    }
  }

  async backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients> {
    const action = 'run backward'
    this.#life.check(action)
    const { memory } = this.#executor
    checkOwnTape(tape, CudnnTape)
    const contents = tape.contentsFor(this)
    const { sizes } = contents.plan
    const given = checkBackwardArguments(memory, this.descriptor, sizes, gradients)
    return tape.serve(async () => {
      const operands = new PassBuffers()
      const result = new PassBuffers()
      try {
        const passed = await this.#queueBackward(contents, this.#passes.operands(operands, given), result)
        return this.#passes.gradients(sizes, passed, layoutKey(this.descriptor))
      } finally {
        operands.release()
        result.release()
      }
    })
  }

  async dropoutState(): Promise<Uint8Array> {
    this.#life.check('read the dropout state')
    return (await this.#planner.dropout?.save()) ?? new Uint8Array(0)
  }

  restoreDropoutState(state: Uint8Array): void {
    this.#life.check('restore the dropout state')
    const { dropout } = this.#planner
    if (dropout === undefined) checkDropoutStateLength(state, 0)
    else dropout.restore(state)
  }

  dispose(): void {
    if (!this.#life.end()) return
    this.#planner.dispose()
    this.#entry.leave()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  protected override summary(): Summary {
    return rnnSummary(this, this.#life)
  }

  /**
   * Queues a forward in one of three ways: as the replay of a graph, as calls, or, where the device must be asked first
   * (for a plan, or to capture a graph), as either while the queue is held.
   */
  async #queueForward(
    known: RnnPlan | undefined,
    given: Given<ForwardOperand>,
    made: PassBuffers,
    makePlan: (lane: Lane) => Promise<RnnPlan>,
  ): Promise<ForwardBuffers> {
    const { session } = this.#executor
    // A step that is gathered becomes one graph as a whole.
    if (known !== undefined && session.isGathering) {
      return this.#passes.forward(known.isReplayable ? session : session.ungathered(), known, given, made)
    }
    const graphs = known && this.#graphsOf(known)
    const next = graphs?.next(given)
    if (next === 'replay') return graphs!.replayForward(session, given, made)
    if (next === 'run') return this.#passes.forward(session, known!, given, made, graphs!.trials?.forward)
    return session.hold('run forward', async (urgent) => {
      const plan = known ?? (await makePlan(urgent))
      // Another call may have captured the same meanwhile.
      if (graphs?.next(given) === 'capture') await graphs.captureForward(urgent, given)
      if (graphs?.next(given) === 'replay') return graphs.replayForward(urgent, given, made)
      return this.#passes.forward(urgent, plan, given, made)
    })
  }

  /** Queues a backward: as calls, or as the replay of a graph where the forward was one. */
  async #queueBackward(
    contents: TapeContents,
    given: Given<BackwardOperand>,
    made: PassBuffers,
  ): Promise<BackwardBuffers> {
    const { session } = this.#executor
    const graphs = this.#graphs.get(contents.plan)
    if (graphs === undefined || contents.graphs !== graphs) {
      const trial = session.isGathering ? undefined : graphs?.trials?.backward
      return this.#passes.backward(session, contents, given, made, trial)
    }
    if (!graphs.awaitsBackward) return graphs.backward(session, contents, given, made)
    return session.hold('run backward', (urgent) => graphs.backward(urgent, contents, given, made))
  }

  #tape(passed: ForwardBuffers, versions: OperandVersions): CudnnTape {
    const contents = this.#passes.tapeContents(passed)
    const { bytes } = contents.buffers.reserve
    return new CudnnTape(this.#executor.memory.ledger, { rnn: this, contents, bytes, versions })
  }

  #graphsOf(plan: RnnPlan): PassGraphs {
    let graphs = this.#graphs.get(plan)
    if (graphs === undefined) {
      const made = new PassGraphs(this.#executor, this.#passes, plan, this.#planner.trials(plan))
      plan.onRelease = () => made.release()
      this.#graphs.set(plan, made)
      graphs = made
    }
    return graphs
  }
}
