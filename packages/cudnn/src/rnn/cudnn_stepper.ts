import { required } from '@cudnn-rnn/canonical/rules'
import { DTYPES, type Rnn, type RnnQueuedStepper, type RnnStreamState, type TensorLike } from '@cudnn-rnn/ops'
import { elementCount, type FloatArray, hiddenColumns, type RnnDescriptor, type Tensor } from '@cudnn-rnn/canonical'
import { allocating, checkParams, type LedgerEntry, Lifetime, passShapes } from '@cudnn-rnn/ops/executor'
import type { CommandList } from '../device/command_list.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import { BufferOwner, type DeviceBuffer } from '../device/device_buffer.js'
import { launchEach } from '../device/device_kernels.js'
import type { GivenForward, RnnPasses } from './rnn_passes.js'
import { planKey, type RnnPlan } from './rnn_plan.js'
import type { RnnPlanner } from './rnn_planner.js'

export interface StepperOwner {
  /** Held only: the plans of a network that is collected are freed. */
  readonly rnn: Rnn
  readonly executor: CudnnExecutor
  readonly descriptor: RnnDescriptor
  readonly paramsSize: number
  /** Life of the network. */
  readonly life: Lifetime
  readonly planner: RnnPlanner
  readonly passes: RnnPasses
}

/** h or c of all rows. */
interface States {
  readonly name: 'h' | 'c'
  readonly buffer: DeviceBuffer
  /** [L,B,·] */
  readonly shape: readonly number[]
}

/** T and R of a step. */
interface StepSize {
  readonly time: number
  readonly batch: number
}

const ACTION = 'step a stream'
/** A download of 0 bytes: it copies nothing and reports the error of its buffer. */
const NOTHING = new Float32Array(0)

/** The batch rows of a step or of a transfer of states. */
interface Picked {
  /** Their numbers on the device; -1 in rows that fill up. */
  readonly rows: DeviceBuffer
  readonly count: number
}

/** Frees the states of steppers that were collected without `dispose()`. */
const dropped = new FinalizationRegistry<BufferOwner>((owner) => owner.release())

/**
 * Streams whose states stay on the device. A step gathers the states of its rows, runs a forward and scatters the new
 * ones, as one list of commands that is replayed as a graph. The scattering is a separate segment: if the forward
 * fails, the states are not written.
 */
export class CudnnStepper implements RnnQueuedStepper {
  readonly batch: number
  readonly #network: StepperOwner
  readonly #params: TensorLike
  readonly #life: Lifetime
  readonly #entry: LedgerEntry
  readonly #owner = new BufferOwner()
  /** h, and c of an LSTM. */
  readonly #states: readonly States[]

  constructor(network: StepperOwner, params: TensorLike, batch: number) {
    const { executor, descriptor } = network
    const { memory, session } = executor
    this.batch = batch
    this.#network = network
    this.#params = params
    this.#life = new Lifetime('stepper', memory.life)
    const { h, c } = passShapes(descriptor, { time: 1, batch })
    const list = session.list('open a stream')
    // TensorFlow's and cuDNN's default initial state. Cleared on the device, so nothing is uploaded.
    const zeros = (name: 'h' | 'c', shape: readonly number[]): States => {
      const buffer = this.#owner.own(memory.allocate(list, elementCount(shape)))
      list.add('clear', { to: buffer, offset: 0, bytes: buffer.bytes })
      return { name, buffer, shape }
    }
    this.#states = [zeros('h', h), ...(c ? [zeros('c', c)] : [])]
    session.post(list)
    const bytes = this.#states.reduce((sum, { buffer }) => sum + buffer.bytes, 0)
    this.#entry = memory.ledger.enter('steppers', this, bytes)
    dropped.register(this, this.#owner, this)
  }

  checkCanStep(): void {
    this.#life.check(ACTION)
    this.#network.life.check(ACTION)
  }

  /** Advances all rows: input [T,B,I] → output [T,B,C], both on the host. */
  async step(input: Tensor): Promise<Tensor> {
    const [time = 0] = input.shape
    const data = await this.#step(undefined, input.data as FloatArray, { time, batch: this.batch })
    return { data, shape: [time, this.batch, hiddenColumns(this.#network.descriptor)] }
  }

  /** Advances the R listed rows by one step: output [R,C]. */
  async stepRows(rows: Int32Array, input: Tensor): Promise<Tensor> {
    const columns = hiddenColumns(this.#network.descriptor)
    const { numbers, frames, batch } = this.#paddedRows(rows, input)
    const data = await this.#step(numbers, frames, { time: 1, batch })
    return { data: data.subarray(0, rows.length * columns), shape: [rows.length, columns] }
  }

  stepSync(input: Tensor, out: FloatArray): void {
    const [time = 0] = input.shape
    this.#stepNow(undefined, input.data as FloatArray, { time, batch: this.batch }, out)
  }

  stepRowsSync(rows: Int32Array, input: Tensor, out: FloatArray): void {
    const { numbers, frames, batch } = this.#paddedRows(rows, input)
    this.#stepNow(numbers, frames, { time: 1, batch }, out)
  }

  reset(rows?: Int32Array): void {
    this.#change('reset a stream', rows, (list, states, picked) => {
      if (picked === undefined) list.add('clear', { to: states.buffer, offset: 0, bytes: states.buffer.bytes })
      else this.#scatter(list, states, undefined, picked)
    })
  }

  /** h [L,R,C] and c [L,R,H] on the host, after all steps queued before. */
  async state(rows?: Int32Array): Promise<RnnStreamState> {
    const action = 'read the state of a stream'
    this.#life.check(action)
    const { memory, session } = this.#network.executor
    const count = rows?.length ?? this.batch
    const { h: shapeH, c: shapeC } = passShapes(this.#network.descriptor, { time: 1, batch: count })
    const host = (shape: readonly number[]): Tensor => {
      const { array } = DTYPES[memory.dtype]
      return { data: allocating(action, () => new array(elementCount(shape)) as FloatArray), shape }
    }
    const result = { h: host(shapeH), c: shapeC && host(shapeC) }
    if (count === 0) return result
    // A stream is not part of a training step: its commands run after those recorded so far.
    session.flush()
    const list = session.list(action)
    const made = new BufferOwner()
    try {
      const picked = rows && this.#picked(list, rows, made)
      for (const states of this.#states) {
        const to = required(result[states.name], 'a result has the states of its stream')
        list.add('download', { from: this.#read(list, states, picked, made), offset: 0, to: to.data as FloatArray })
      }
    } finally {
      made.release()
    }
    await session.finish(list)
    return result
  }

  /** Queues new states: h [L,R,C] and c [L,R,H], of all rows or of the R listed ones. Host arrays are read now. */
  restore(state: RnnStreamState, rows?: Int32Array): void {
    const { memory } = this.#network.executor
    this.#change('restore the state of a stream', rows, (list, states, picked, made) => {
      const given = required(state[states.name], 'the executor kit has checked that a state of an LSTM has c')
      if (picked === undefined) list.upload(states.buffer, given.data)
      else this.#scatter(list, states, made.own(memory.operand(list, given)), picked)
      if (states.name === 'c') this.#clip(list, states)
    })
  }

  /** Idempotent. Steps already queued complete: the worker frees the states after them, in the order of the queue. */
  dispose(): void {
    if (!this.#life.end()) return
    dropped.unregister(this)
    this.#owner.release()
    this.#entry.leave()
  }

  /** Rows and frames filled up to a power of two: every number of rows needs a plan and a graph, and powers are few. */
  #paddedRows(rows: Int32Array, input: Tensor) {
    const { descriptor, executor } = this.#network
    const batch = 2 ** Math.ceil(Math.log2(rows.length))
    // The kernels gather zeros for row -1 and scatter nothing.
    const numbers = new Int32Array(batch).fill(-1)
    numbers.set(rows)
    // The surplus rows are zeros, which any network computes without an error.
    const frames = new DTYPES[executor.memory.dtype].array(batch * descriptor.inputSize) as FloatArray
    frames.set(input.data)
    return { numbers, frames, batch }
  }

  /** Advances the rows by T steps: input [T,R,I] to output [T,R,·]. */
  async #step(rows: Int32Array | undefined, input: FloatArray, size: StepSize): Promise<FloatArray> {
    const { executor, descriptor, planner } = this.#network
    const { memory, session } = executor
    const checked = this.#checkedParams()
    const elements = size.time * size.batch * hiddenColumns(descriptor)
    const output = allocating(ACTION, () => new DTYPES[memory.dtype].array(elements) as FloatArray)
    const sizes = { sequenceLengths: null, ...size }
    const key = planKey(sizes, false)
    const owners = { made: new BufferOwner(), kept: new BufferOwner() }
    try {
      const known = planner.known(key)
      // The operands are read and uploaded now, in the order of calls.
      const { list, record } = this.#begin(rows, input, size, checked, owners)
      let issued: Promise<unknown> | undefined
      let y: DeviceBuffer
      if (known !== undefined) {
        y = record(list, known)
        // A graph must give the results of its calls: not every plan with lengths or a generator has that property.
        issued = known.isReplayable ? session.submit(list) : session.run(list)
      } else {
        session.post(list)
        // The device must make a plan first.
        y = await session.runExclusive(ACTION, async (queue) => {
          const plan = await planner.plan(queue, key, { sizes, training: false })
          const list = session.list(ACTION)
          const recorded = record(list, plan)
          await queue.run(list)
          return recorded
        })
      }
      // Queued behind the step in the same turn, so one wait serves both.
      const reading = session.list(ACTION)
      reading.add('download', { from: y, offset: 0, to: output })
      await Promise.all([issued, session.finish(reading)])
      return output
    } finally {
      owners.made.release()
      owners.kept.release()
    }
  }

  /** Like {@link #step}, and blocks the calling thread until `out` [T,R,·] is filled. */
  #stepNow(rows: Int32Array | undefined, input: FloatArray, size: StepSize, out: FloatArray): void {
    const { executor, planner } = this.#network
    const { session } = executor
    const checked = this.#checkedParams()
    // An exclusive section ends by JavaScript, which this call blocks: waiting during one would deadlock.
    session.checkCanWait(ACTION)
    session.flush()
    const sizes = { sequenceLengths: null, ...size }
    const plan = planner.planAndWait(planKey(sizes, false), sizes)
    const owners = { made: new BufferOwner(), kept: new BufferOwner() }
    try {
      const { list, record } = this.#begin(rows, input, size, checked, owners)
      const y = record(list, plan)
      const reading = session.list(ACTION)
      reading.add('download', { from: y, offset: 0, to: out })
      // The states are named too: a step that could not write them fails here, not at the next one.
      for (const { buffer } of this.#states) reading.add('download', { from: buffer, offset: 0, to: NOTHING })
      session.submitAndRead(list, reading, plan.isReplayable)
    } finally {
      owners.made.release()
      owners.kept.release()
    }
  }

  /** The parameters, checked at every step: they may have been disposed since the stream was opened. */
  #checkedParams(): TensorLike {
    const { executor, descriptor, paramsSize } = this.#network
    this.checkCanStep()
    return checkParams(ACTION, executor.memory, descriptor, paramsSize, this.#params)
  }

  /** A list with the operands of a step, and the function that adds the step to it or to a later one and returns the output. */
  #begin(
    rows: Int32Array | undefined,
    input: FloatArray,
    size: StepSize,
    checked: TensorLike,
    { made, kept }: { readonly made: BufferOwner; readonly kept: BufferOwner },
  ) {
    const { executor, descriptor, passes } = this.#network
    const { session } = executor
    // Converted once and kept with the tensor of parameters, not once for each step.
    const weights = made.own(passes.sharedWeights(checked, false))
    session.flush()
    const list = session.list(ACTION)
    const frames = { data: input, shape: [size.time, size.batch, descriptor.inputSize] }
    const given = { weights, ...passes.operands(list, made, { input: frames, params: checked }) }
    const picked = rows && this.#picked(list, rows, made)
    const record = (recorded: CommandList, plan: RnnPlan) => {
      const y = kept.own(this.#advance(recorded, plan, given, picked, made).retain())
      made.release()
      return y
    }
    return { list, record }
  }

  /** Adds a step of all rows, or of those picked; returns the output. */
  #advance(
    list: CommandList,
    plan: RnnPlan,
    given: Omit<GivenForward, 'inputH' | 'inputC'>,
    picked: Picked | undefined,
    made: BufferOwner,
  ): DeviceBuffer {
    const [inputH, inputC] = this.#states.map((states) => this.#read(list, states, picked, made))
    const { output, outputH, outputC } = this.#network.passes.forward(list, plan, { inputH, inputC, ...given }, made)
    // A segment is skipped as a whole after a failure before it: h and c keep the values of the last good step.
    list.segment('step a stream')
    for (const states of this.#states) {
      const from = required(states.name === 'h' ? outputH : outputC, 'the forward of an LSTM has c')
      if (picked === undefined) list.copy(states.buffer, from)
      else this.#scatter(list, states, from, picked)
    }
    return output
  }

  /** Queues a change of h and c. The next step that reads them reports a failure. */
  #change(
    action: string,
    rows: Int32Array | undefined,
    change: (list: CommandList, states: States, picked: Picked | undefined, made: BufferOwner) => void,
  ): void {
    this.#life.check(action)
    if (rows?.length === 0) return
    const { session } = this.#network.executor
    session.flush()
    const list = session.list(action)
    const made = new BufferOwner()
    try {
      const picked = rows && this.#picked(list, rows, made)
      for (const states of this.#states) change(list, states, picked, made)
    } finally {
      made.release()
    }
    session.post(list)
  }

  /** Uploads the numbers of rows; `made` releases them after the list. */
  #picked(list: CommandList, rows: Int32Array, made: BufferOwner): Picked {
    const { memory } = this.#network.executor
    return { rows: made.own(memory.operand(list, { data: rows, shape: [rows.length] })), count: rows.length }
  }

  /** Clips c as a pass clips the one that enters it. */
  #clip(list: CommandList, { buffer, shape }: States): void {
    const { descriptor, executor } = this.#network
    if (descriptor.cellClip === undefined) return
    const fields = { x: buffer, count: elementCount(shape), limit: descriptor.cellClip }
    launchEach(executor.session, list, 'clip_by_value', fields.count, fields)
  }

  /** The states of all rows, or a copy of those picked, which is `made`'s. */
  #read(list: CommandList, { buffer, shape }: States, given: Picked | undefined, made: BufferOwner): DeviceBuffer {
    if (given === undefined) return buffer
    const { rows, count: picked } = given
    const { memory, session } = this.#network.executor
    const [layers = 0, batch = 0, columns = 0] = shape
    const count = layers * picked * columns
    const y = made.own(memory.allocate(list, count))
    launchEach(session, list, 'gather_states', count, { y, x: buffer, rows, count, picked, batch, columns })
    return y
  }

  /** Writes `from` (zeros if undefined) to the states of the rows picked. */
  #scatter(list: CommandList, states: States, from: DeviceBuffer | undefined, { rows, count: picked }: Picked): void {
    const { session } = this.#network.executor
    const [layers = 0, batch = 0, columns = 0] = states.shape
    const count = layers * picked * columns
    const fields = { y: states.buffer, x: from, rows, count, picked, batch, columns }
    launchEach(session, list, 'scatter_states', count, fields)
  }
}
