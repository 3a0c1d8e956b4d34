import {
  DTYPES,
  isBackendTensor,
  type RnnForwardResult,
  type RnnInputGradients,
  type Tape,
  type TensorLike,
} from '@cudnn-rnn/ops'
import {
  type CanonicalParams,
  type FloatArray,
  flatLayout,
  layoutKey,
  type ParamLayout,
  packCanonical,
  type RnnDescriptor,
  unpackCanonical,
} from '@cudnn-rnn/canonical'
import {
  allocating,
  checkBackwardArguments,
  checkForwardArguments,
  checkOwnTape,
  checkSelection,
  ExecutorRnn,
  OperandVersions,
  type RnnForwardInputs,
  type RnnOutputGradients,
  selectedCanonical,
} from '@cudnn-rnn/ops/executor'
import type { CommandList } from '../device/command_list.js'
import type { CommandQueue } from '../device/command_queue.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import { CudnnTensor } from '../device/cudnn_tensor.js'
import { BufferOwner } from '../device/device_buffer.js'
import type { DeviceMemory } from '../device/device_memory.js'
import { CudnnStepper } from './cudnn_stepper.js'
import { CudnnTape } from './cudnn_tape.js'
import { checkDropoutStateLength } from './dropout_states.js'
import { RnnPasses } from './rnn_passes.js'
import { planKey, type RnnPlan } from './rnn_plan.js'
import { RnnPlanner } from './rnn_planner.js'

/** Frees the plans of networks that were collected without `dispose()`. */
const dropped = new FinalizationRegistry<RnnPlanner>((planner) => planner.dispose())

/** A network on cuDNN. Its opaque layout is the flat canonical one, which every plan compares with cuDNN's own. */
export class CudnnRnn extends ExecutorRnn<DeviceMemory> {
  readonly #executor: CudnnExecutor
  readonly #layout: ParamLayout
  readonly #layoutKey: string
  readonly #planner: RnnPlanner
  readonly #passes: RnnPasses

  constructor(executor: CudnnExecutor, descriptor: RnnDescriptor) {
    const layout = flatLayout(descriptor)
    super(executor.memory, descriptor, layout.size)
    this.#executor = executor
    this.#layout = layout
    this.#layoutKey = layoutKey(descriptor)
    this.#planner = new RnnPlanner(executor, descriptor, layout)
    this.#passes = new RnnPasses(executor, descriptor, layout)
    dropped.register(this, this.#planner, this)
  }

  /** Packs on the host and uploads once: the layout is the flat canonical one, so no kernel is needed. */
  canonicalToParams(canonical: CanonicalParams): CudnnTensor {
    this.life.check('convert canonical parameters')
    const { memory } = this
    const flat = packCanonical(this.#layout, canonical, new DTYPES[memory.dtype].array(this.paramsSize) as FloatArray)
    return memory.fromHost({ data: flat, shape: [this.paramsSize] }, memory.dtype, this.#layoutKey)
  }

  /** Reads the parameters, or the selected tensors alone, which waits for the calls before, and unpacks them on the host. */
  async paramsToCanonical(params: TensorLike, selection?: ReadonlySet<number>): Promise<CanonicalParams> {
    const action = 'convert opaque parameters'
    const given = this.checkParams(action, params)
    checkSelection(action, selection)
    if (selection !== undefined && given instanceof CudnnTensor) return await this.#download(action, given, selection)
    const { data } = isBackendTensor(given) ? await given.read() : given
    return allocating(action, () => unpackCanonical(this.#layout, data as FloatArray), data.byteLength)
  }

  async #download(action: string, { buffer }: CudnnTensor, selection: ReadonlySet<number>): Promise<CanonicalParams> {
    const { session, memory } = this.#executor
    const { array, bytes } = DTYPES[memory.dtype]
    const list = session.list(action)
    const canonical = selectedCanonical(
      this.descriptor,
      selection,
      new array(0) as FloatArray,
      ({ size }, kind, index) => {
        const data = allocating(action, () => new array(size) as FloatArray, size * bytes)
        if (size > 0) list.add('download', { from: buffer, offset: bytes * this.#layout[kind][index].offset, to: data })
        return data
      },
    )
    await session.finish(list)
    return canonical
  }

  /**
   * Queues a forward. The arguments are checked and read before the first `await`, so later calls see the tensors'
   * versions in the order of calls. Resolves when the work is issued to the device; results can be used immediately.
   */
  async forward(inputs: RnnForwardInputs): Promise<RnnForwardResult> {
    const action = 'run forward'
    this.life.check(action)
    const { memory, session } = this.#executor
    const checked = checkForwardArguments(memory, this.descriptor, this.paramsSize, inputs)
    const { sizes, training, operands } = checked
    const versions = new OperandVersions({ ...operands })
    const owner = new BufferOwner()
    try {
      const weights = owner.own(this.#passes.sharedWeights(operands.params, training))
      // Queued in order, before an exclusive section could wait for it.
      const dropout = this.#planner.makeDropout(training)
      const key = planKey(sizes, training)
      const known = this.#planner.known(key) ?? this.#planner.planNow(key, sizes, training)
      // Host arrays are uploaded in this list, now, even if the pass itself must wait for its plan.
      const reading = this.#begin(action, known)
      const { input, inputH, inputC, params } = this.#passes.operands(reading, owner, { ...operands })
      const given = { input, inputH, inputC, params, weights }
      // Either now, with a known plan, or in an exclusive section once the plan is made.
      const record = (list: CommandList, plan: RnnPlan) => {
        const buffers = this.#passes.forward(list, plan, given, owner)
        const { output, outputH, outputC } = this.#passes.outputs(buffers)
        // cuDNN's backward reads y again, so a tape is stale after an update of the output too.
        versions.note('output', output)
        const contents = training ? this.#passes.tapeContents(buffers) : undefined
        const { ledger } = memory
        const tape =
          contents && new CudnnTape(ledger, { rnn: this, contents, bytes: contents.buffers.reserve.bytes, versions })
        owner.release()
        return { output, outputH, outputC, tape }
      }
      if (known !== undefined) {
        const results = record(reading, known)
        return session.records(reading) ? results : await this.#submit(results, known, reading)
      }
      // A separate list is queued here; one of a step is submitted by the flush of the section.
      session.post(reading)
      // The device must make a plan first.
      return await session.runExclusive(action, async (queue) => {
        const plan = await this.#planner.plan(queue, key, { sizes, training, dropout })
        const list = session.list(action)
        return this.#submit(record(list, plan), plan, list, queue)
      })
    } finally {
      owner.release()
    }
  }

  /**
   * Queues cudnnRNNBackwardData_v8 and cudnnRNNBackwardWeights_v8 and consumes the tape. cuDNN requires this order:
   * BackwardWeights reads intermediate values that BackwardData leaves in the reserve space.
   */
  async backward(tape: Tape, gradients: RnnOutputGradients): Promise<RnnInputGradients> {
    const action = 'run backward'
    this.life.check(action)
    const { memory, session } = this.#executor
    checkOwnTape(tape, CudnnTape)
    const contents = tape.contentsFor(this)
    const { plan } = contents
    const given = checkBackwardArguments(memory, this.descriptor, plan.sizes, gradients)
    return await tape.serve(() => {
      const owner = new BufferOwner()
      try {
        const list = this.#begin(action, plan)
        const buffers = this.#passes.backward(list, contents, this.#passes.operands(list, owner, given), owner)
        const results = this.#passes.gradients(plan, buffers, this.#layoutKey)
        owner.release()
        return session.records(list) ? results : this.#submit(results, plan, list)
      } finally {
        owner.release()
      }
    })
  }

  /** Opens a stream over rows whose states stay on the device. */
  queuedStepper(params: TensorLike, batch: number): CudnnStepper {
    const action = 'open a stream'
    const given = this.checkParams(action, params)
    const parts = { rnn: this, executor: this.#executor, planner: this.#planner, passes: this.#passes }
    const { descriptor, paramsSize, life } = this
    return new CudnnStepper({ descriptor, paramsSize, life, ...parts }, given, batch)
  }

  /** The generator's states after all training forwards queued so far; empty without dropout. */
  async dropoutState(): Promise<Uint8Array> {
    this.life.check('read the dropout state')
    return (await this.#planner.dropout?.save()) ?? new Uint8Array(0)
  }

  /** An empty state for a network without a generator. */
  restoreDropoutState(state: Uint8Array): void {
    this.life.check('restore the dropout state')
    const { dropout } = this.#planner
    if (dropout === undefined) checkDropoutStateLength(state, 0)
    else dropout.restore(state)
  }

  /** Plans that tapes hold stay until the tapes are disposed. */
  protected override free(): void {
    dropped.unregister(this)
    this.#planner.dispose()
  }

  /** A list for a pass. If a replay would differ from the calls, the list is not part of the step under way. */
  #begin(action: string, plan: RnnPlan | undefined): CommandList {
    const { session } = this.#executor
    return plan?.isReplayable === false ? session.list(action) : session.begin(action)
  }

  /** Submits a pass and gives its results, which are disposed if that fails. */
  async #submit<Results extends object>(
    results: Results,
    { isReplayable }: RnnPlan,
    list: CommandList,
    queue?: CommandQueue,
  ): Promise<Results> {
    const { session } = this.#executor
    try {
      if (queue !== undefined) await queue.run(list)
      else if (isReplayable) await session.submit(list)
      else await session.run(list)
      return results
    } catch (error) {
      for (const result of Object.values(results)) (result as Disposable | undefined)?.[Symbol.dispose]()
      throw error
    }
  }
}
