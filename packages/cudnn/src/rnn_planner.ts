import {
  numGates,
  numPseudoLayers,
  type ParamLayout,
  type PlacedRegion,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/executor-kit'
import { fastestAlgorithm, isAccepted, type Trial } from './algorithm_choice.js'
import type { Algorithm } from './cudnn_enums.js'
import { CudnnError, cudnnError } from './cudnn_error.js'
import type { CudnnExecutor } from './cudnn_executor.js'
import type { Lane } from './device_session.js'
import { type DropoutGenerator, DropoutStates } from './dropout_states.js'
import { isGraphSized } from './graph_limits.js'
import { GraphTrial } from './graph_trial.js'
import type { RnnDescriptorHandle } from './native_addon.js'
import { hasDropout, legalAlgorithms, makeRnnDescriptor, measuredAlgorithms } from './network_descriptors.js'
import { replaysDropout, replaysLengths } from './replay_trials.js'
import {
  DeviceLengths,
  type PassDescriptors,
  PlanCache,
  passDescriptors,
  RnnPlan,
  releaseDescriptors,
  type TempSpace,
  tempSpaceSizes,
} from './rnn_plan.js'

/** Shapes of one network that are kept ready; ragged batches make a new one for every set of lengths. */
const PLANS_PER_NETWORK = 32

/** Whether graphs are worth it for passes of one shape. */
export interface PassTrials {
  readonly forward: GraphTrial
  readonly backward: GraphTrial
}

/** Makes the plans of one network, chooses algorithms, and keeps the dropout generator. */
export class RnnPlanner {
  /** Undefined where dropout touches nothing, or drops everything, for which no random numbers are needed. */
  readonly dropout: DropoutStates | undefined
  readonly #executor: CudnnExecutor
  readonly #network: RnnDescriptor
  readonly #layout: ParamLayout
  readonly #plans = new PlanCache(PLANS_PER_NETWORK)
  readonly #descriptors = new Map<string, RnnDescriptorHandle>()
  readonly #algorithms = new Map<string, Algorithm>()
  readonly #tempSpaces = new Map<string, TempSpace>()
  readonly #trials = new Map<string, PassTrials>()
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

  known(key: string): RnnPlan | undefined {
    return this.#plans.get(key)
  }

  /** What was found out about graphs for passes of this shape, whatever the lengths; undefined where it is not asked. */
  trials({ sizes, training }: RnnPlan): PassTrials | undefined {
    if (this.#executor.graphs !== 'measured') return undefined
    const key = shapeKey(sizes, training)
    let trials = this.#trials.get(key)
    if (trials === undefined) {
      trials = { forward: new GraphTrial(), backward: new GraphTrial() }
      this.#trials.set(key, trials)
    }
    return trials
  }

  /** Queues the dropout generator before a training forward that needs it. */
  makeDropout(training: boolean): DropoutGenerator | undefined {
    return training ? this.dropout?.make() : undefined
  }

  /**
   * The plan for passes of these sizes; asks the device, so it runs where the queue is held. `dropout` was queued before:
   * what is queued from here on the queue's own lane would wait for itself.
   */
  async plan(
    lane: Lane,
    key: string,
    sizes: RnnPassSizes,
    training: boolean,
    dropout: DropoutGenerator | undefined,
  ): Promise<RnnPlan> {
    const known = this.#plans.get(key)
    if (known !== undefined) return known
    const { session, arithmetic } = this.#executor
    let descriptors: PassDescriptors | undefined
    let lengths: DeviceLengths | undefined
    try {
      await dropout?.ready
      const algorithm = await this.#algorithm(lane, sizes, training, dropout)
      const rnn = await this.#descriptor(lane, algorithm, sizes, dropout)
      await this.#checkLayout(lane, rnn)
      descriptors = passDescriptors(session, arithmetic, this.#network, sizes)
      const temp = await this.#tempSpace(lane, rnn, algorithm, sizes, training)
      await lane.run('send the lengths', () => {
        lengths = new DeviceLengths(session, sizes)
      })
      const isReplayable = await this.#isReplayable(lane, sizes, dropout)
      const parts = { sizes, training, algorithm, rnn, descriptors, lengths: lengths!, isReplayable, ...temp }
      const plan = new RnnPlan(session, parts)
      this.#plans.set(key, plan)
      return plan
    } catch (error) {
      if (descriptors !== undefined) releaseDescriptors(session, descriptors)
      lengths?.release()
      throw cudnnError('prepare the network', error)
    }
  }

  /**
   * The plan for new lengths of a known shape, of which nothing must be asked of the device; undefined where something
   * must.
   */
  planNow(key: string, sizes: RnnPassSizes, training: boolean): RnnPlan | undefined {
    const { session, arithmetic, graphs } = this.#executor
    if (sizes.sequenceLengths === null) return undefined
    const hasGenerator = training && this.dropout !== undefined
    const rnn = this.#descriptors.get(descriptorKey('standard', sizes, hasGenerator))
    const temp = this.#tempSpaces.get(tempSpaceKey('standard', sizes, training))
    const isReplayable = isGraphSized(this.#network, sizes) ? this.#knownReplayable(hasGenerator) : false
    if (rnn === undefined || temp === undefined || (graphs !== 'never' && isReplayable === undefined)) return undefined
    let lengths: DeviceLengths | undefined
    const sent = session.direct.run('send the lengths', () => {
      lengths = new DeviceLengths(session, sizes)
    })
    const parts = { sizes, training, algorithm: 'standard', rnn, isReplayable: isReplayable ?? true, ...temp } as const
    try {
      const descriptors = passDescriptors(session, arithmetic, this.#network, sizes)
      const plan = new RnnPlan(session, { ...parts, descriptors, lengths: lengths! })
      this.#plans.set(key, plan)
      // The passes report it, as their lengths carry the error.
      sent.catch(() => this.#plans.remove(key, plan))
      return plan
    } catch (error) {
      sent.catch(() => {})
      lengths?.release()
      throw cudnnError('prepare the network', error)
    }
  }

  dispose(): void {
    this.#plans.clear()
    for (const descriptor of this.#descriptors.values()) this.#executor.session.releaseDescriptor(descriptor)
    this.#descriptors.clear()
    this.dropout?.dispose()
  }

  /**
   * The algorithm named, where cuDNN takes it at every stage for this shape, or the fastest; else `standard`. Both are
   * tried on scratch memory, with the dropout of the network: what is refused only there must not fail the caller's pass.
   */
  async #algorithm(
    lane: Lane,
    sizes: RnnPassSizes,
    training: boolean,
    dropout: DropoutGenerator | undefined,
  ): Promise<Algorithm> {
    const { session, arithmetic, algorithm, graphs } = this.#executor
    const network = this.#network
    const legal = legalAlgorithms(network, arithmetic, sizes.sequenceLengths !== null)
    const candidates = measuredAlgorithms(network, arithmetic, sizes.sequenceLengths !== null)
    const isUseful =
      algorithm === 'measured'
        ? candidates.length > 1
        : algorithm === 'persist_dynamic'
          ? legal.length > 1
          : algorithm !== 'standard' && legal.includes(algorithm)
    if (!isUseful) return 'standard'
    const key = shapeKey(sizes, training)
    let chosen = this.#algorithms.get(key)
    if (chosen === undefined) {
      const canReplay = await this.#isReplayable(lane, sizes, dropout)
      const shape = { network, arithmetic, sizes, training, dropout }
      const trial: Trial = { ...shape, graphs: canReplay ? graphs : 'never' }
      if (algorithm === 'measured') chosen = await fastestAlgorithm(session, lane, candidates, trial)
      else chosen = (await isAccepted(session, lane, algorithm, trial)) ? algorithm : 'standard'
      this.#algorithms.set(key, chosen)
    }
    return chosen
  }

  async #descriptor(
    lane: Lane,
    algorithm: Algorithm,
    sizes: RnnPassSizes,
    dropout: DropoutGenerator | undefined,
  ): Promise<RnnDescriptorHandle> {
    const { session, arithmetic } = this.#executor
    const key = descriptorKey(algorithm, sizes, dropout !== undefined)
    const known = this.#descriptors.get(key)
    if (known !== undefined) return known
    const { native, libraries } = session
    const made = makeRnnDescriptor(
      native,
      libraries,
      arithmetic,
      this.#network,
      algorithm,
      dropout?.descriptor ?? null,
      sizes.sequenceLengths !== null,
    )
    try {
      // Built for one batch size, before anything is asked of it, and never again.
      if (algorithm === 'persist_dynamic') {
        await lane.run('build the kernels', (_, handle) => native.buildRnnDynamic(handle, made, sizes.batch))
      }
    } catch (error) {
      session.releaseDescriptor(made)
      throw error
    }
    this.#descriptors.set(key, made)
    return made
  }

  /** Asked once per shape, for rows of T steps: rows of unequal length never need more. */
  async #tempSpace(
    lane: Lane,
    rnn: RnnDescriptorHandle,
    algorithm: Algorithm,
    sizes: RnnPassSizes,
    training: boolean,
  ): Promise<TempSpace> {
    const key = tempSpaceKey(algorithm, sizes, training)
    const known = this.#tempSpaces.get(key)
    if (known !== undefined) return known
    const { session, arithmetic } = this.#executor
    const full = passDescriptors(session, arithmetic, this.#network, { ...sizes, sequenceLengths: null })
    try {
      const asked = await tempSpaceSizes(lane, rnn, training, full.x)
      this.#tempSpaces.set(key, asked)
      return asked
    } finally {
      releaseDescriptors(session, full)
    }
  }

  /** Whether graphs of these passes do what their calls do; tried once per executor where cuDNN does not say. */
  async #isReplayable(lane: Lane, sizes: RnnPassSizes, dropout: DropoutGenerator | undefined): Promise<boolean> {
    const executor = this.#executor
    const { session, arithmetic } = executor
    if (executor.graphs === 'never') return true
    if (!isGraphSized(this.#network, sizes)) return false
    if (dropout !== undefined) {
      executor.replaysDropout ??= await replaysDropout(session, lane, this.#network, arithmetic, dropout)
    }
    if (sizes.sequenceLengths !== null) {
      executor.replaysLengths ??= await replaysLengths(session, lane, arithmetic)
    }
    return (
      (dropout === undefined || executor.replaysDropout!) &&
      (sizes.sequenceLengths === null || executor.replaysLengths!)
    )
  }

  /** {@link #isReplayable} of passes over rows of unequal length, where it is known. */
  #knownReplayable(hasGenerator: boolean): boolean | undefined {
    const { replaysDropout: ofDropout, replaysLengths: ofLengths } = this.#executor
    if (ofLengths === undefined || !hasGenerator) return ofLengths
    return ofDropout === undefined ? undefined : ofLengths && ofDropout
  }

  /** Compares the flat canonical layout with what cuDNN reports, once per network. Throws `ERR_CUDNN_LAYOUT`. */
  async #checkLayout(lane: Lane, rnn: RnnDescriptorHandle): Promise<void> {
    if (this.#isLayoutChecked) return
    const bytes = this.#layout.size * this.#executor.arithmetic.bytes
    const [reported] = await lane.run('size the weight space', (native, handle) => native.weightSpaceSize(handle, rnn))
    if (reported !== bytes) throw layoutError('the weight space', reported!, bytes)
    const layers = numPseudoLayers(this.#network)
    const linearLayers = 2 * numGates(this.#network) + (this.#network.numProj === undefined ? 0 : 1)
    const numbers = await lane.run('ask for the weight layout', (native, handle) => {
      for (let layer = 0; layer < layers; layer++) {
        for (let id = 0; id < linearLayers; id++) native.weightParams(handle, rnn, layer, bytes, id)
      }
    })
    for (const region of [...this.#layout.weights, ...this.#layout.biases])
      this.#checkRegion(region, numbers, linearLayers)
    this.#isLayoutChecked = true
  }

  #checkRegion(region: PlacedRegion, numbers: Float64Array, linearLayers: number): void {
    const at = (region.pseudoLayer * linearLayers + region.linLayerId) * 6 + (region.kind === 'weight' ? 0 : 3)
    const offset = region.size === 0 ? -1 : region.offset * this.#executor.arithmetic.bytes
    if (numbers[at] === offset) return
    const { kind, pseudoLayer, linLayerId } = region
    throw layoutError(`the ${kind} ${linLayerId} of pseudo-layer ${pseudoLayer}`, numbers[at]!, offset)
  }
}

/** Descriptors of one network differ in these. */
function descriptorKey(algorithm: Algorithm, { batch, sequenceLengths }: RnnPassSizes, hasDropout: boolean): string {
  const built = algorithm === 'persist_dynamic' ? batch : ''
  return `${algorithm} ${hasDropout} ${sequenceLengths !== null} ${built}`
}

function tempSpaceKey(algorithm: Algorithm, sizes: RnnPassSizes, training: boolean): string {
  return `${shapeKey(sizes, training)} ${algorithm} ${sizes.sequenceLengths !== null}`
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
