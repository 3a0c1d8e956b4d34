import { type Backend, type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/ops'
import { type GradientTape, onTape, Recording, type Value } from '@cudnn-rnn/ops/executor'
import { buildChain, chainLengths, chainStream, forwardChain } from './chain.js'
import { codedRangeError } from './coded_error.js'
import type { Forwarded, LayerInput } from './forwarded.js'
import { type ConfigValue, Layer, type LayerDefinition, type LayerInfo, type Pass } from './layer.js'
import { checkAreLayers } from './layer_list.js'
import { checkLayerOptions, doesNotFit, LAYER_OPTIONS, type LayerOptions } from './layer_options.js'
import { combinedStream, type LayerStream, openStreams } from './layer_stream.js'
import { savedLayer } from './saved_layer.js'
import { featuresOf, type Signal, signalText } from './signal.js'

/** A branch: a layer, or a list of layers; an empty list is the input itself. */
export type Branch = LayerDefinition | readonly LayerDefinition[]

/** A way to join the outputs of branches. */
export interface Joint {
  readonly kind: string
  /** Names of layers begin with it. */
  readonly base: string
  /** Columns of the output; undefined if the branches' do not fit each other. */
  readonly features: (ofBranches: readonly number[]) => number | undefined
  /** The rule for the columns, for an error. */
  readonly rule: string
  readonly join: (t: GradientTape, outputs: readonly Value[]) => Value
}

/** The definition of a layer that gives its input to several branches and joins their outputs. */
export function branching(joint: Joint, branches: readonly Branch[], options: LayerOptions): LayerDefinition {
  const { kind } = joint
  checkLayerOptions(kind, options, LAYER_OPTIONS)
  checkIsList(kind, branches)
  const chains = branches.map((branch) => (isChain(branch) ? branch : [branch]))
  for (const chain of chains) checkAreLayers(`make ${kind}`, chain)
  // A join of embeddings requires an embedding's input.
  const input = chains.map(([first]) => first?.input).find((each) => each !== undefined)
  const definition: LayerDefinition = {
    kind,
    name: options.name,
    ...(input !== undefined && { input }),
    isStepwise: chains.every((chain) => chain.every(({ isStepwise }) => isStepwise)),
    config: { branches: chains.map((chain) => chain.map(savedLayer)) },
    build(input, build) {
      if (input.features === null && chains.some((chain) => chain.length === 0)) {
        throw doesNotFit(definition, input, 'of numbers where a branch is empty')
      }
      const name = build.nameOf(options.name, joint.base)
      const layers: Layer[][] = []
      try {
        for (const chain of chains) layers.push(buildChain(chain, input, build))
        const output = joinedSignal(joint, name, input, layers)
        const variables = layers.flat().flatMap((layer) => layer.variables)
        return new BranchLayer(build.backend, { definition, name, input, output, variables }, layers, joint.join)
      } catch (error) {
        for (const layer of layers.flat()) layer.dispose()
        throw error
      }
    },
  }
  return definition
}

function joinedSignal(joint: Joint, name: string, input: Signal, layers: readonly (readonly Layer[])[]): Signal {
  const outputs = layers.map((chain) => chain.at(-1)?.output ?? input)
  const [first] = outputs
  const refuse = (rule: string, branch: number) =>
    codedRangeError(
      'ERR_LAYERS_DO_NOT_FIT',
      `Cannot build ${name} (${joint.kind}) as ${rule}: ${nameOf(layers, 0)} gives ${signalText(first)}, ${nameOf(layers, branch)} gives ${signalText(outputs[branch])}`,
      {
        layer: name,
        before: nameOf(layers, 0),
        expected: signalText(first),
        actual: signalText(outputs[branch]),
      },
    )
  const other = outputs.findIndex(({ isSequence }) => isSequence !== first.isSequence)
  if (other !== -1) throw refuse('all branches must give sequences, or none', other)
  const columns = outputs.map(featuresOf)
  const features = joint.features(columns)
  if (features === undefined) {
    throw refuse(
      joint.rule,
      columns.findIndex((count) => count !== columns[0]),
    )
  }
  return { isSequence: first.isSequence, features }
}

/** A layer of branches. */
export class BranchLayer extends Layer {
  readonly branches: readonly (readonly Layer[])[]
  readonly #join: Joint['join']

  constructor(backend: Backend, info: LayerInfo, branches: readonly (readonly Layer[])[], join: Joint['join']) {
    super(backend, info)
    this.branches = branches
    this.#join = join
  }

  override get parts(): readonly Layer[] {
    return this.branches.flat()
  }

  override outputLengths(lengths: Int32Array): Int32Array {
    return chainLengths(this.branches[0], lengths)
  }

  async forward(t: GradientTape, given: LayerInput, pass: Pass): Promise<Forwarded> {
    // Branches share it, and their gradients of it are one sum; class ids have none, and are read on the host.
    const value = this.input.features === null ? undefined : t.value(given)
    const x = value === undefined ? given : t.recording.alias(value, value.isDifferentiated, t.made)
    const outputs: Value[] = []
    const states: Value[] = []
    let used = 0
    for (const branch of this.branches) {
      const begin = used
      used += branch.reduce((sum, { stateCount }) => sum + stateCount, 0)
      const own = { ...pass, states: pass.states?.slice(begin, used) ?? null }
      const result = await forwardChain(branch, t, x, own)
      outputs.push(result.output)
      states.push(...(result.states ?? []))
    }
    return { output: this.#join(t, outputs), states }
  }

  override openStream(batch: number): LayerStream {
    const streams = openStreams(this.branches, (branch) => chainStream(branch, batch))
    return combinedStream(streams, async (input) => {
      const steps = await Promise.allSettled(streams.map((stream) => stream.step(input)))
      const outputs = steps.filter((step) => step.status === 'fulfilled').map(({ value }) => value)
      try {
        for (const step of steps) if (step.status === 'rejected') throw step.reason
        return await this.#joined(outputs)
      } finally {
        for (const output of outputs) if (output !== input && isBackendTensor(output)) output.dispose()
      }
    })
  }

  #joined(outputs: readonly TensorLike[]): Promise<BackendTensor> {
    return onTape(new Recording(this.backend, [], false), async (t) => {
      const joined = this.#join(
        t,
        outputs.map((output) => t.value(output)),
      )
      const [y] = t.recording.take([joined])
      return y
    })
  }

  override async randomState(): Promise<ConfigValue> {
    const states = await Promise.all(this.parts.map((layer) => layer.randomState()))
    return states.some((state) => state !== null) ? states : null
  }

  override restoreRandomState(state: ConfigValue): void {
    if (!Array.isArray(state)) return
    for (const [index, layer] of this.parts.entries()) layer.restoreRandomState(state[index] ?? null)
  }
}

function isChain(branch: Branch): branch is readonly LayerDefinition[] {
  return Array.isArray(branch)
}

function checkIsList(kind: string, branches: unknown): void {
  if (Array.isArray(branches) && branches.length > 0) return
  checkAreLayers(`make ${kind}`, Array.isArray(branches) ? [undefined as never] : (branches as never))
}

function nameOf(layers: readonly (readonly Layer[])[], branch: number): string {
  return layers[branch].at(-1)?.name ?? `branch ${branch}`
}
