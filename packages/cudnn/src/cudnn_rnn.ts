import {
  checkBackwardArguments,
  checkForwardArguments,
  checkOwnTape,
  checkTensor,
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
  codedRangeError,
  codedTypeError,
  type FloatArray,
  flatLayout,
  layoutKey,
  type ParamLayout,
  packCanonical,
  type RnnDescriptor,
  unpackCanonical,
} from '@cudnn-rnn/canonical'
import type { CudnnExecutor } from './cudnn_executor.js'
import { CudnnTape, OperandVersions, type TapeContents } from './cudnn_tape.js'
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
export class CudnnRnn implements Rnn {
  readonly descriptor: RnnDescriptor
  readonly paramsSize: number
  readonly #executor: CudnnExecutor
  readonly #layout: ParamLayout
  readonly #layoutKey: string
  readonly #planner: RnnPlanner
  readonly #passes: RnnPasses
  readonly #graphs = new WeakMap<RnnPlan, PassGraphs>()
  #disposed = false

  constructor(executor: CudnnExecutor, descriptor: RnnDescriptor) {
    this.#executor = executor
    this.descriptor = descriptor
    this.#layout = flatLayout(descriptor)
    this.paramsSize = this.#layout.size
    this.#layoutKey = layoutKey(descriptor)
    this.#planner = new RnnPlanner(executor, descriptor, this.#layout)
    this.#passes = new RnnPasses(executor, descriptor, this.#layout)
    executor.memory.ledger.add('rnns')
  }

  canonicalToParams(canonical: CanonicalParams): CudnnTensor {
    this.#checkAlive('convert canonical parameters')
    const { memory } = this.#executor
    const flat = packCanonical(this.#layout, canonical, new DTYPES[memory.dtype].array(this.paramsSize) as FloatArray)
    return memory.fromHost(flat, [this.paramsSize], memory.dtype, this.#layoutKey)
  }

  async paramsToCanonical(params: TensorLike): Promise<CanonicalParams> {
    const action = 'convert opaque parameters'
    this.#checkAlive(action)
    const { memory } = this.#executor
    checkTensor(action, 'params', params, {
      dtype: memory.dtype,
      shape: [this.paramsSize],
      layout: this.#layoutKey,
    })
    memory.checkOwn(action, { params })
    const { data } = isBackendTensor(params) ? await params.read() : params
    return unpackCanonical(this.#layout, data as FloatArray)
  }

  async forward(inputs: RnnForwardInputs): Promise<RnnForwardResult> {
    const action = 'run forward'
    this.#checkAlive(action)
    const { descriptor } = this
    const { memory } = this.#executor
    const sizes = checkForwardArguments(descriptor, memory.dtype, this.paramsSize, inputs)
    const { input, inputH, inputC, params, training } = inputs
    memory.checkOwn(action, { input, inputH, inputC, params })
    const versions = new OperandVersions({ input, inputH, inputC, params })
    const operands = new PassBuffers()
    const result = new PassBuffers()
    try {
      const given = this.#passes.operands(action, operands, { input, inputH, inputC, params })
      this.#planner.makeDropout(training)
      const key = PlanCache.key(sizes, training)
      const known = this.#planner.known(key)
      const passed = await this.#queueForward(known, given, result, (urgent) =>
        this.#planner.plan(urgent, key, sizes, training),
      )
      const { output, outputH, outputC } = this.#passes.outputs(sizes, passed)
      return {
        output,
        outputH,
        outputC,
        tape: training
          ? new CudnnTape(memory.ledger, this.#passes.tapeContents(this, passed), versions.with('output', output))
          : undefined,
      }
    } finally {
      operands.release()
      result.release()
    }
  }

  async backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients> {
    const action = 'run backward'
    this.#checkAlive(action)
    const { memory } = this.#executor
    checkOwnTape(tape, CudnnTape)
    const { rnn, plan } = tape.contents()
    if (rnn !== this) {
      throw codedTypeError('ERR_TAPE_FOREIGN', 'Cannot run backward as the tape belongs to another network.')
    }
    checkBackwardArguments(this.descriptor, memory.dtype, plan.sizes, gradients)
    const { output, outputH, outputC } = gradients
    memory.checkOwn(action, { output, outputH, outputC })
    return tape.serve(async (contents) => {
      const operands = new PassBuffers()
      const result = new PassBuffers()
      try {
        const given = this.#passes.operands(action, operands, { output, outputH, outputC })
        const passed = await this.#queueBackward(contents, given, result)
        return this.#passes.gradients(plan.sizes, passed, this.#layoutKey)
      } finally {
        operands.release()
        result.release()
      }
    })
  }

  async dropoutState(): Promise<Uint8Array> {
    this.#checkAlive('read the dropout state')
    return (await this.#planner.dropout?.save()) ?? new Uint8Array(0)
  }

  restoreDropoutState(state: Uint8Array): void {
    this.#checkAlive('restore the dropout state')
    const { dropout } = this.#planner
    if (dropout !== undefined) dropout.restore(state)
    else checkDropoutStateLength(state, 0)
  }

  dispose(): void {
    if (this.#disposed) return
    this.#disposed = true
    this.#planner.dispose()
    this.#executor.memory.ledger.remove('rnns')
  }

  [Symbol.dispose](): void {
    this.dispose()
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
    const next = graphs?.next(given.params!)
    if (next === 'replay') return graphs!.replayForward(session, given, made)
    if (next === 'run') return this.#passes.forward(session, known!, given, made, graphs!.trials?.forward)
    return session.hold('run forward', async (urgent) => {
      const plan = known ?? (await makePlan(urgent))
      // Another call may have captured the same meanwhile.
      if (graphs?.next(given.params!) === 'capture') await graphs.captureForward(urgent, given.params!)
      if (graphs?.next(given.params!) === 'replay') return graphs.replayForward(urgent, given, made)
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

  #checkAlive(action: string): void {
    this.#executor.memory.checkAlive(action)
    if (!this.#disposed) return
    throw codedRangeError('ERR_RNN_DISPOSED', `Cannot ${action} as the network was disposed`)
  }
}
