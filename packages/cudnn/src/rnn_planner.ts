import {
  numGates,
  numPseudoLayers,
  type ParamLayout,
  type PlacedRegion,
  type RnnDescriptor,
} from '@cudnn-rnn/canonical'
import type { RnnPassSizes } from '@cudnn-rnn/executor-kit'
import { fastestAlgorithm } from './algorithm_choice.js'
import type { Algorithm } from './cudnn_enums.js'
import { CudnnError, cudnnError } from './cudnn_error.js'
import type { CudnnExecutor } from './cudnn_executor.js'
import type { Lane } from './device_session.js'
import { replayDrawsAsCalls } from './dropout_replay.js'
import { type DropoutGenerator, DropoutStates } from './dropout_states.js'
import { GraphTrial } from './graph_trial.js'
import type { RnnDescriptorHandle } from './native_addon.js'
import { hasDropout, legalAlgorithms, makeRnnDescriptor } from './network_descriptors.js'
import {
  DeviceLengths,
  type PassDescriptors,
  PlanCache,
  passDescriptors,
  RnnPlan,
  releaseDescriptors,
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
      const algorithm = await this.#algorithm(lane, sizes, training)
      const rnn = await this.#descriptor(algorithm, dropout)
      await this.#checkLayout(lane, rnn)
      descriptors = passDescriptors(session, arithmetic, this.#network, sizes)
      const temp = await tempSpaceSizes(lane, rnn, training, descriptors.x)
      await lane.run('send the lengths', (native, handle) => {
        lengths = new DeviceLengths(session, sizes)
        if (algorithm === 'persist_dynamic') native.buildRnnDynamic(handle, rnn, sizes.batch)
      })
      const isReplayable = dropout === undefined || (await this.#replaysDropout(lane, rnn, dropout))
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

  dispose(): void {
    this.#plans.clear()
    for (const descriptor of this.#descriptors.values()) this.#executor.session.releaseDescriptor(descriptor)
    this.#descriptors.clear()
    this.dropout?.dispose()
  }

  async #algorithm(lane: Lane, sizes: RnnPassSizes, training: boolean): Promise<Algorithm> {
    const { session, arithmetic, algorithm } = this.#executor
    const legal = legalAlgorithms(this.#network, arithmetic, sizes.sequenceLengths !== null)
    if (algorithm !== 'measured') {
      const isAllowed = algorithm === 'persist_dynamic' ? legal.length > 1 : legal.includes(algorithm)
      return isAllowed ? algorithm : 'standard'
    }
    if (legal.length === 1) return legal[0]!
    const key = shapeKey(sizes, training)
    let chosen = this.#algorithms.get(key)
    if (chosen === undefined) {
      chosen = await fastestAlgorithm(session, lane, legal, { network: this.#network, arithmetic, sizes, training })
      this.#algorithms.set(key, chosen)
    }
    return chosen
  }

  async #descriptor(algorithm: Algorithm, dropout: DropoutGenerator | undefined): Promise<RnnDescriptorHandle> {
    const { session, arithmetic } = this.#executor
    await dropout?.ready
    const key = `${algorithm} ${dropout !== undefined}`
    let descriptor = this.#descriptors.get(key)
    if (descriptor === undefined) {
      const { native, libraries } = session
      descriptor = makeRnnDescriptor(
        native,
        libraries,
        arithmetic,
        this.#network,
        algorithm,
        dropout?.descriptor ?? null,
      )
      this.#descriptors.set(key, descriptor)
    }
    return descriptor
  }

  async #replaysDropout(lane: Lane, rnn: RnnDescriptorHandle, { states }: DropoutGenerator): Promise<boolean> {
    const executor = this.#executor
    if (executor.graphs === 'never') return true
    const { session, arithmetic } = executor
    const trial = { network: this.#network, arithmetic, rnn, states }
    executor.replaysDropout ??= await replayDrawsAsCalls(session, lane, trial)
    return executor.replaysDropout
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
