import {
  numGates,
  numPseudoLayers,
  type ParamLayout,
  type PlacedRegion,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import { passShapes, type RnnPassSizes } from '@cudnn-rnn/ops/executor'
import { type Asking, answer, answerNow } from '../device/asking.js'
import type { CommandQueue } from '../device/command_queue.js'
import type { CudnnExecutor } from '../device/cudnn_executor.js'
import { RecentlyUsed } from '../device/recently_used.js'
import { type Algorithm, FORWARD_MODE } from '../sys/cudnn_enums.js'
import { CudnnError } from '../sys/cudnn_error.js'
import type { RnnDescriptorId } from '../sys/native_addon.js'
import { AlgorithmTrials } from './algorithm_choice.js'
import { type DropoutGenerator, DropoutStates } from './dropout_states.js'
import {
  hasDropout,
  isGraphSized,
  legalAlgorithms,
  measuredAlgorithms,
  setRnnDescriptor,
} from './network_descriptors.js'
import { PersistentPass } from './persistent_pass.js'
import { persistentShapes } from './persistent_shape.js'
import { replaysDropout, replaysLengths } from './replay_trials.js'
import { setPassDescriptors, type TempSpace, uploadLengths } from './rnn_call.js'
import { type PlanParts, type RnnPlan, rnnPlan } from './rnn_plan.js'

/** Shapes of one network that are kept ready; ragged batches make a new one for every set of lengths. */
const PLANS_PER_NETWORK = 32

/** Ways to divide a layer among blocks that are timed for a shape: NVRTC takes up to two seconds for each. */
const MOST_PERSISTENT_TRIALS = 2

/** Passes that a plan is made for. */
interface Planned {
  readonly sizes: RnnPassSizes
  readonly training: boolean
  /** Queued before: see `RnnPlanner.plan`. */
  readonly dropout?: DropoutGenerator | undefined
}

/** Makes the plans of one network, chooses algorithms, and keeps the dropout generator. */
export class RnnPlanner {
  /** Undefined if dropout touches nothing, or drops everything, for which no random numbers are needed. */
  readonly dropout: DropoutStates | undefined
  readonly #executor: CudnnExecutor
  readonly #network: RnnDescriptor
  readonly #layout: ParamLayout
  readonly #plans = new RecentlyUsed<RnnPlan>(PLANS_PER_NETWORK, (plan) => plan.release())
  readonly #descriptors = new Map<string, RnnDescriptorId>()
  readonly #algorithms = new Map<string, Algorithm>()
  readonly #tempSpaces = new Map<string, TempSpace>()
  readonly #persistents = new Map<string, PersistentPass | undefined>()
  #isLayoutChecked = false

  constructor(executor: CudnnExecutor, network: RnnDescriptor, layout: ParamLayout) {
    this.#executor = executor
    this.#network = network
    this.#layout = layout
    this.dropout =
      hasDropout(network) && network.dropout < 1
        ? new DropoutStates(executor.session, network.dropout, network.seed)
        : undefined
  }

  /** The plan of this shape if it is ready; no device is asked. */
  known(key: string): RnnPlan | undefined {
    return this.#plans.get(key)
  }

  /** Queues the dropout generator before a training forward that needs it. */
  makeDropout(training: boolean): DropoutGenerator | undefined {
    return training ? this.dropout?.make() : undefined
  }

  /**
   * The plan for passes of these sizes, made in an exclusive section as it reads sizes from the device. `dropout` must
   * be queued before: a list queued in order during the section would wait for the section's end, and deadlock.
   */
  async plan(queue: CommandQueue, key: string, planned: Planned): Promise<RnnPlan> {
    const { sizes, training, dropout } = planned
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    // The descriptor of the network refers to the generator's, which must exist on the device before.
    await dropout?.ready
    const algorithm = await this.#algorithm(queue, planned)
    const rnn = await answer(queue, this.#descriptor(queue, algorithm, planned))
    // Workspace and reserve space depend on the algorithm too.
    const temp = await answer(queue, this.#tempSpace(queue, rnn, algorithm, planned))
    const isReplayable = await this.#isReplayable(queue, planned)
    const persistent = await this.#persistent(queue, planned, algorithm)
    const parts = { sizes, training, algorithm, rnn, isReplayable, persistent, ...temp }
    const { plan, made } = this.#made(queue, key, parts)
    await made
    return plan
  }

  /**
   * The plan for inference over rows of T steps; blocks the calling thread while the device is asked. No algorithm is timed
   * for it: without an earlier choice for this shape it is `standard`. Persistent kernels keep weights from one time step to
   * the next, which gains nothing in the single steps of streams.
   */
  planAndWait(key: string, sizes: RnnPassSizes): RnnPlan {
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const { queue } = this.#executor.session
    const algorithm = this.#algorithms.get(shapeKey(sizes, false)) ?? 'standard'
    const planned = { sizes, training: false }
    const rnn = answerNow(queue, this.#descriptor(queue, algorithm, planned))
    const temp = answerNow(queue, this.#tempSpace(queue, rnn, algorithm, planned))
    const isReplayable = this.#executor.graphs === 'never' || isGraphSized(this.#network, sizes)
    return this.#made(queue, key, { ...planned, algorithm, rnn, isReplayable, ...temp }).plan
  }

  /**
   * The plan for new lengths of a known shape, for which the device need not be queried; undefined if something
   * must.
   */
  planNow(key: string, sizes: RnnPassSizes, training: boolean): RnnPlan | undefined {
    const { session, graphs } = this.#executor
    if (sizes.sequenceLengths === null) return undefined
    const persistent = this.#persistents.get(passKey(sizes, training))
    if (this.#mayPersist(training) && !this.#persistents.has(passKey(sizes, training))) return undefined
    const hasGenerator = training && this.dropout !== undefined
    const rnn = this.#descriptors.get(descriptorKey('standard', sizes, hasGenerator))
    const temp = this.#tempSpaces.get(tempSpaceKey('standard', sizes, training))
    const isReplayable = isGraphSized(this.#network, sizes) ? this.#knownReplayable(hasGenerator) : false
    if (rnn === undefined || temp === undefined || (graphs !== 'never' && isReplayable === undefined)) return undefined
    const choice = { algorithm: 'standard', persistent, isReplayable: isReplayable ?? true } as const
    const parts = { sizes, training, rnn, ...choice, ...temp }
    // If it fails the passes report it, as their lengths and descriptors carry the error.
    return this.#made(session.queue, key, parts).plan
  }

  dispose(): void {
    this.#plans.clear()
    const modules = [...this.#persistents.values()].map((pass) => pass?.module)
    this.#executor.session.destroy(...this.#descriptors.values(), ...modules)
    this.#descriptors.clear()
    this.#persistents.clear()
    this.dropout?.dispose()
  }

  /** Queues the descriptors and lengths of a plan, and keeps the plan unless they fail. */
  #made(
    queue: CommandQueue,
    key: string,
    parts: Omit<PlanParts, 'descriptors' | 'lengths' | 'shapes'>,
  ): { readonly plan: RnnPlan; readonly made: Promise<unknown> } {
    const { session, arithmetic } = this.#executor
    const list = session.list('prepare the network')
    const descriptors = setPassDescriptors(session, list, arithmetic, this.#network, parts.sizes)
    const lengths = uploadLengths(session, list, parts.sizes)
    const made = queue.run(list)
    const shapes = passShapes(this.#network, parts.sizes)
    const { persistent, training } = parts
    const reserveBytes = (training && persistent?.reserveBytes) || parts.reserveBytes
    const plan = rnnPlan(session, { ...parts, reserveBytes, descriptors, lengths, shapes })
    this.#plans.set(key, plan)
    // The plan is kept before its commands have run: the commands of later passes queue behind them.
    // A failed plan is dropped, so the next pass of this shape makes a new one.
    made.catch(() => this.#plans.remove(key, plan))
    return { plan, made }
  }

  /**
   * The named or the fastest algorithm, if cuDNN accepts it at every stage for this shape; else `standard`. Each is
   * tried on scratch memory with the network's dropout first, so that a late refusal does not fail the caller's pass.
   */
  async #algorithm(queue: CommandQueue, planned: Planned): Promise<Algorithm> {
    const { sizes, training, dropout } = planned
    const { session, arithmetic, algorithm, graphs } = this.#executor
    const network = this.#network
    const legal = legalAlgorithms(network, arithmetic, sizes.sequenceLengths !== null)
    // `legal` are the algorithms that cuDNN documents for this network; `candidates` the ones worth a measurement.
    const candidates = measuredAlgorithms(network, arithmetic, sizes.sequenceLengths !== null)
    const isUseful =
      algorithm === 'measured'
        ? candidates.length > 1
        : algorithm === 'persist_dynamic'
          ? legal.length > 1
          : algorithm !== 'standard' && legal.includes(algorithm)
    // Nothing to choose: no scratch memory is allocated.
    if (!isUseful) return 'standard'
    const key = shapeKey(sizes, training)
    let chosen = this.#algorithms.get(key)
    if (chosen === undefined) {
      const canReplay = await this.#isReplayable(queue, planned)
      const shape = { network, arithmetic, sizes, training, dropout }
      const trials = new AlgorithmTrials(session, queue, { ...shape, graphs: canReplay ? graphs : 'never' })
      if (algorithm === 'measured') chosen = await trials.fastest(candidates)
      else chosen = (await trials.accepts(algorithm)) ? algorithm : 'standard'
      this.#algorithms.set(key, chosen)
    }
    return chosen
  }

  /** Whether persistent kernels may compute passes: cuDNN alone draws the masks of dropout. */
  #mayPersist(training: boolean): boolean {
    return this.#executor.kernels !== 'cudnn' && !(training && hasDropout(this.#network))
  }

  /** The kernels that take the place of `algorithm`, if the option allows them and a trial does not rule them out. */
  async #persistent(
    queue: CommandQueue,
    { sizes, training }: Planned,
    algorithm: Algorithm,
  ): Promise<PersistentPass | undefined> {
    const { session, arithmetic, graphs, kernels, cache } = this.#executor
    if (!this.#mayPersist(training)) return undefined
    const key = passKey(sizes, training)
    if (this.#persistents.has(key)) return this.#persistents.get(key)
    const network = this.#network
    const shapes = persistentShapes(network, arithmetic, sizes, session.info)
    let best: PersistentPass | undefined
    // A trial has no empty rows: the executor replaces the results in them.
    const sequenceLengths = sizes.sequenceLengths?.map((length) => Math.max(1, length)) ?? null
    const tried = { network, arithmetic, sizes: { ...sizes, sequenceLengths }, training, graphs, dropout: undefined }
    const trials = new AlgorithmTrials(session, queue, tried)
    let least = kernels === 'measured' && shapes.length > 0 ? await trials.time(algorithm) : undefined
    for (const shape of shapes.slice(0, kernels === 'own' ? 1 : MOST_PERSISTENT_TRIALS)) {
      const options = { network, layout: this.#layout, arithmetic, sizes, shape }
      const load = () => PersistentPass.load(session, queue, cache, options)
      if (kernels === 'own') {
        best = await load()
        continue
      }
      const { source, options: macros } = PersistentPass.source(session, options)
      const { name, driverVersion } = session.info
      const outcome = await cache.guarded([source, ...macros, name, String(driverVersion)], async () => {
        const pass = await load()
        return { pass, time: pass && (await trials.time('standard', pass)) }
      })
      const { pass, time } = outcome ?? {}
      const isBest = time !== undefined && (least === undefined || time < least)
      const other = isBest ? best : pass
      if (isBest) [best, least] = [pass, time]
      if (other !== undefined) queue.releaseNow([other.module])
    }
    this.#persistents.set(key, best)
    return best
  }

  *#descriptor(queue: CommandQueue, algorithm: Algorithm, { sizes, dropout }: Planned): Asking<RnnDescriptorId> {
    const { session, arithmetic } = this.#executor
    const key = descriptorKey(algorithm, sizes, dropout !== undefined)
    const known = this.#descriptors.get(key)
    if (known !== undefined) return known
    const descriptor = session.newId<RnnDescriptorId>()
    const list = session.list('prepare the network')
    const hasPaddedIo = sizes.sequenceLengths !== null
    const options = { arithmetic, algorithm, dropout: dropout?.descriptor ?? null, hasPaddedIo }
    setRnnDescriptor(list, descriptor, this.#network, options)
    // Built for one batch size, before its first use, and never again.
    if (algorithm === 'persist_dynamic') list.add('buildRnnDynamic', { descriptor, batch: sizes.batch })
    try {
      yield list
      yield* this.#checkLayout(descriptor)
    } catch (error) {
      queue.releaseNow([descriptor])
      throw error
    }
    this.#descriptors.set(key, descriptor)
    return descriptor
  }

  /** Queried once per shape, for rows of T steps: rows of unequal length never need more. */
  *#tempSpace(
    queue: CommandQueue,
    descriptor: RnnDescriptorId,
    algorithm: Algorithm,
    { sizes, training }: Planned,
  ): Asking<TempSpace> {
    const key = tempSpaceKey(algorithm, sizes, training)
    const known = this.#tempSpaces.get(key)
    if (known !== undefined) return known
    const { session, arithmetic } = this.#executor
    const list = session.list('size the workspace')
    // Descriptors of this query only.
    const full = setPassDescriptors(session, list, arithmetic, this.#network, { ...sizes, sequenceLengths: null })
    const mode = training ? FORWARD_MODE.training : FORWARD_MODE.inference
    list.add('tempSpaceSizes', { descriptor, mode, xDesc: full.x })
    try {
      const [workspaceBytes, reserveBytes] = yield list
      const temp = { workspaceBytes, reserveBytes }
      this.#tempSpaces.set(key, temp)
      return temp
    } finally {
      queue.releaseNow([full.x, full.y, full.h, ...(full.c ? [full.c] : [])])
    }
  }

  /** Whether graphs of these passes do what their calls do; tried once per executor if cuDNN does not say. */
  async #isReplayable(queue: CommandQueue, { sizes, dropout }: Planned): Promise<boolean> {
    const executor = this.#executor
    const { session, arithmetic } = executor
    if (executor.graphs === 'never') return true
    if (!isGraphSized(this.#network, sizes)) return false
    let isReplayable = true
    if (dropout !== undefined) {
      // Once for the executor: the property is cuDNN's, not the network's.
      executor.replaysDropout ??= await replaysDropout(session, queue, this.#network, arithmetic, dropout)
      isReplayable = executor.replaysDropout
    }
    if (sizes.sequenceLengths !== null) {
      executor.replaysLengths ??= await replaysLengths(session, queue, arithmetic)
      isReplayable &&= executor.replaysLengths
    }
    return isReplayable
  }

  /** {@link #isReplayable} of passes over rows of unequal length, if it is known. */
  #knownReplayable(hasGenerator: boolean): boolean | undefined {
    const { replaysDropout: ofDropout, replaysLengths: ofLengths } = this.#executor
    if (ofLengths === undefined || !hasGenerator) return ofLengths
    return ofDropout === undefined ? undefined : ofLengths && ofDropout
  }

  /** Compares the flat canonical layout with what cuDNN reports, once per network. Throws `ERR_CUDNN_LAYOUT`. */
  *#checkLayout(descriptor: RnnDescriptorId): Asking<void> {
    if (this.#isLayoutChecked) return
    const bytes = this.#layout.size * this.#executor.arithmetic.bytes
    const layers = numPseudoLayers(this.#network)
    // Input and recurrent matrix of each gate, and the projection: see cudnnGetRNNWeightParams.
    const linearLayers = 2 * numGates(this.#network) + (this.#network.numProj === undefined ? 0 : 1)
    const size = this.#executor.session.list('size the weight space')
    size.add('weightSpaceSize', { descriptor })
    const [reported] = yield size
    if (reported !== bytes) throw layoutError('the weight space', reported, bytes)
    const list = this.#executor.session.list('query the weight layout')
    for (let pseudoLayer = 0; pseudoLayer < layers; pseudoLayer++) {
      for (let linLayerID = 0; linLayerID < linearLayers; linLayerID++) {
        list.add('weightParams', { descriptor, pseudoLayer, weightSpaceSize: bytes, linLayerID })
      }
    }
    const numbers = yield list
    for (const region of [...this.#layout.weights, ...this.#layout.biases]) {
      this.#checkRegion(region, numbers, linearLayers)
    }
    this.#isLayoutChecked = true
  }

  /**
   * Compares the offset of one region with cuDNN's: six numbers for each linear layer, three for the matrix and
   * three for the bias.
   */
  #checkRegion(region: PlacedRegion, numbers: Float64Array, linearLayers: number): void {
    const at = (region.pseudoLayer * linearLayers + region.linLayerId) * 6 + (region.kind === 'weight' ? 0 : 3)
    const offset = region.size === 0 ? -1 : region.offset * this.#executor.arithmetic.bytes
    if (numbers[at] === offset) return
    const { kind, pseudoLayer, linLayerId } = region
    throw layoutError(`the ${kind} ${linLayerId} of pseudo-layer ${pseudoLayer}`, numbers[at], offset)
  }
}

/** Descriptors of one network differ in these. */
function descriptorKey(algorithm: Algorithm, { batch, sequenceLengths }: RnnPassSizes, hasDropout: boolean): string {
  const built = algorithm === 'persist_dynamic' ? batch : ''
  return `${algorithm} ${hasDropout} ${sequenceLengths !== null} ${built}`
}

function tempSpaceKey(algorithm: Algorithm, sizes: RnnPassSizes, training: boolean): string {
  return `${passKey(sizes, training)} ${algorithm}`
}

function passKey(sizes: RnnPassSizes, training: boolean): string {
  return `${shapeKey(sizes, training)} ${sizes.sequenceLengths !== null}`
}

function shapeKey({ time, batch }: RnnPassSizes, training: boolean): string {
  return `${time} ${batch} ${training}`
}

function layoutError(what: string, reported: number, expected: number): CudnnError {
  const fields = { library: 'cudnn', call: 'cudnnGetRNNWeightParams', status: 0, statusName: '', detail: '' }
  const bytes = { requestedBytes: 0, freeBytes: 0, totalBytes: 0 }
  return new CudnnError(
    'ERR_CUDNN_LAYOUT',
    `Cannot prepare the network as this cuDNN lays out its weights in another way than every release known: ${what} is at byte ${reported} instead of ${expected}. Please report the release.`,
    { ...fields, ...bytes },
  )
}
