import type { FloatArray } from '@cudnn-rnn/canonical'
import { hasErrorCode } from '@cudnn-rnn/canonical/rules'
import { DTYPES, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { allocating, type CtcLossResult, type CtcProblem, hostCtcLoss, INFEASIBLE_ROWS } from '@cudnn-rnn/ops/executor'
import type { CommandList } from '../device/command_list.js'
import type { CommandQueue } from '../device/command_queue.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import { BufferOwner, type DeviceBuffer } from '../device/device_buffer.js'
import { BLOCK, launchEach } from '../device/device_kernels.js'
import { RecentlyUsed } from '../device/recently_used.js'
import { CTC_LOSS_ALGO_DETERMINISTIC, DATA_TYPES } from '../sys/cudnn_enums.js'
import type { CtcLossDescriptor, TensorDescriptor } from '../sys/native_addon.js'
import { type CudnnCtcProblem, cudnnCtcProblem } from './ctc_problem.js'

const ACTION = 'compute the CTC loss'
/** Shapes that are kept ready. */
const MOST_PLANS = 32

/** The descriptors and the workspace of one shape; null if cuDNN refuses the shape. */
interface CtcPlan {
  readonly probs: TensorDescriptor
  readonly descriptor: CtcLossDescriptor
  readonly workspaceBytes: number
}

/**
 * The CTC loss by cudnnCTCLoss_v8, queued like any other operation; on the host if cuDNN does not compute the problem:
 * in float64, and as {@link cudnnCtcProblem} specifies. The first loss of a shape queries the size of its workspace.
 */
export class CtcLosses {
  readonly #executor: CudnnExecutor
  /** null is kept too, so a shape that cuDNN refuses is queried once. */
  readonly #plans: RecentlyUsed<CtcPlan | null>

  constructor(executor: CudnnExecutor) {
    this.#executor = executor
    this.#plans = new RecentlyUsed(MOST_PLANS, (plan) => executor.session.destroy(plan?.probs, plan?.descriptor))
  }

  async loss(logits: TensorLike, problem: CtcProblem): Promise<CtcLossResult> {
    const { memory, session } = this.#executor
    // cuDNN computes this loss in float32 only (cudnnSetCTCLossDescriptor: CUDNN_DATA_FLOAT).
    const given = memory.dtype === 'float32' ? cudnnCtcProblem(problem) : undefined
    const key = given && `${given.time} ${given.batch} ${given.classes} ${given.maxLabels}`
    const known = key === undefined ? null : this.#plans.get(key)
    if (given === undefined || key === undefined || known === null) return this.#onHost(logits, problem)
    // The common case: the device is not queried and nothing waits.
    if (known !== undefined) {
      const list = session.begin(ACTION)
      const operand = memory.operand(list, logits)
      const results = this.#record(list, known, operand, given)
      operand.release()
      session.post(list)
      return results
    }
    // The operand is read at the time of the call, before the first await: the caller may change a host array
    // afterwards.
    const reading = session.begin(ACTION)
    const operand = memory.operand(reading, logits)
    try {
      session.post(reading)
      return await session.runExclusive(ACTION, async (queue) => {
        const results = await this.#first(queue, key, operand, given)
        if (results !== undefined) return results
        // Within the section: operations queued after it may overwrite the logits.
        const list = session.list(ACTION)
        const host = this.#hostArray(operand.bytes / DTYPES[memory.dtype].bytes)
        list.add('download', { from: operand, offset: 0, to: host })
        await queue.finish(list)
        return this.#computed(host, problem)
      })
    } finally {
      operand.release()
    }
  }

  /** The first loss of a shape; undefined if cuDNN refuses the shape. */
  async #first(
    queue: CommandQueue,
    key: string,
    logits: DeviceBuffer,
    problem: CudnnCtcProblem,
  ): Promise<CtcLossResult | undefined> {
    const { session } = this.#executor
    // Another call may have made it meanwhile.
    // Sections are exclusive, so at most one call makes the plan of a shape.
    const plan = this.#plans.get(key) ?? (await this.#plan(queue, problem))
    if (plan === null) {
      this.#plans.set(key, null)
      return undefined
    }
    const list = session.list(ACTION)
    const results = this.#record(list, plan, logits, problem)
    try {
      await queue.run(list)
    } catch (error) {
      // cuDNN reports some refusals only at the call itself. The results of the failed list hold its error: they are
      // disposed.
      for (const result of Object.values(results)) result.dispose()
      if (this.#plans.get(key) !== plan) queue.releaseNow([plan.probs, plan.descriptor])
      if (!isRefusal(error)) throw error
      this.#plans.set(key, null)
      return undefined
    }
    this.#plans.set(key, plan)
    return results
  }

  /** Queries the workspace of a shape; null if cuDNN refuses the shape. */
  async #plan(queue: CommandQueue, { time, batch, classes, maxLabels }: CudnnCtcProblem): Promise<CtcPlan | null> {
    const { session } = this.#executor
    const probs = session.newId<TensorDescriptor>()
    const descriptor = session.newId<CtcLossDescriptor>()
    const list = session.list(ACTION)
    list.add('setTensorDescriptor', {
      ...{ descriptor: probs, dtype: DATA_TYPES.float32, layers: time, batch, columns: classes },
    })
    // cuDNN sizes the workspace by the longest label sequence, so that length is part of the key. The deterministic one of its
    // two algorithms gives the same bits in every run.
    list.add('setCtcLossDescriptor', { descriptor, maxLabelLength: maxLabels })
    list.add('ctcLossWorkspaceSize', { algo: CTC_LOSS_ALGO_DETERMINISTIC, descriptor, probsDesc: probs })
    try {
      const [workspaceBytes] = await queue.run(list)
      return { probs, descriptor, workspaceBytes }
    } catch (error) {
      queue.releaseNow([probs, descriptor])
      if (isRefusal(error)) return null
      throw error
    }
  }

  #record(list: CommandList, plan: CtcPlan, logits: DeviceBuffer, problem: CudnnCtcProblem): CtcLossResult {
    const { memory, session } = this.#executor
    const { time, batch, classes, blank } = problem
    const count = time * batch * classes
    const made = new BufferOwner()
    const int32 = (data: Int32Array) => made.own(memory.operand(list, { data, shape: [data.length] }))
    const labels = int32(problem.labels)
    const labelLengths = int32(problem.labelLengths)
    const lengths = int32(problem.logitLengths)
    const weights = made.own(memory.operand(list, { data: Float32Array.from(problem.rowWeights), shape: [batch] }))
    const probs = made.own(memory.allocate(list, count))
    const gradients = made.own(memory.allocate(list, count))
    const costs = made.own(memory.allocate(list, batch))
    const marks = made.own(memory.allocate(list, batch))
    const workspace = made.own(list.allocate(plan.workspaceBytes))
    // The operands above are released with the list; these three buffers become tensors, which own them.
    const gradient = memory.allocate(list, count)
    const rowLosses = memory.allocate(list, batch)
    const loss = memory.allocate(list, 1)
    const sizes = { count, batch, classes, blank }
    const infeasible = INFEASIBLE_ROWS.indexOf(problem.infeasible)
    // cuDNN takes the blank as class 0, where the second kernel moves the caller's. Its treatment of NaN is not
    // documented: it gets zeros in such rows, as past a row's length.
    list.launch('ctc_marks', 1, BLOCK, { marks, x: logits, lengths, batch, classes })
    launchEach(session, list, 'ctc_activations', count, { y: probs, x: logits, lengths, marks, ...sizes })
    list.add('ctcLoss', {
      ...{ algo: CTC_LOSS_ALGO_DETERMINISTIC, descriptor: plan.descriptor, probsDesc: plan.probs, probs },
      ...{ labels, labelLengths, inputLengths: lengths, costs, gradientsDesc: plan.probs, gradients, workspace },
    })
    // The reverse permutation, times the weight of each row: cuDNN's gradient is the unweighted sum's.
    const operands = { rows: gradients, x: logits, costs, marks, weights, lengths, infeasible }
    launchEach(session, list, 'ctc_gradient', count, { gradient, ...operands, ...sizes })
    list.launch('ctc_row_losses', 1, BLOCK, { loss, rowLosses, costs, marks, weights, count: batch, infeasible })
    made.release()
    return {
      loss: memory.tensor(loss, []),
      rowLosses: memory.tensor(rowLosses, [batch]),
      logitsGradient: memory.tensor(gradient, [time, batch, classes]),
    }
  }

  async #onHost(logits: TensorLike, problem: CtcProblem): Promise<CtcLossResult> {
    const host = isBackendTensor(logits) ? await logits.read() : logits
    return this.#computed(host.data as FloatArray, problem)
  }

  #computed(logits: FloatArray, problem: CtcProblem): CtcLossResult {
    const { memory } = this.#executor
    const { time, batch, classes } = problem
    const gradient = this.#hostArray(logits.length)
    const rowLosses = this.#hostArray(batch)
    const loss = this.#hostArray(1).fill(hostCtcLoss(gradient, rowLosses, logits, problem))
    const tensor = (data: FloatArray, shape: readonly number[]) => memory.fromHost({ data, shape }, memory.dtype)
    return {
      loss: tensor(loss, []),
      rowLosses: tensor(rowLosses, [batch]),
      logitsGradient: tensor(gradient, [time, batch, classes]),
    }
  }

  #hostArray(length: number): FloatArray {
    return allocating(ACTION, () => new DTYPES[this.#executor.memory.dtype].array(length) as FloatArray)
  }
}

/** True if cuDNN refuses a shape. A lost device or a lack of memory is not a refusal, and the host does not hide it. */
function isRefusal(error: unknown): boolean {
  return hasErrorCode(error, 'ERR_CUDNN_NOT_SUPPORTED', 'ERR_CUDNN_BAD_PARAM')
}
