import { type BackendTensor, isBackendTensor, type TensorLike } from '@cudnn-rnn/backend'
import { codedRangeError } from '@cudnn-rnn/canonical'
import { buildChain, chainStream, forwardChain } from './chain.js'
import type { Forwarded } from './forwarded.js'
import { type ConfigValue, Layer, type LayerDefinition, type LayerInfo, type Pass } from './layer.js'
import type { LayerBuild } from './layer_build.js'
import { checkAreLayers } from './layer_list.js'
import { checkLayerOptions, doesNotFit, type LayerOptions } from './layer_options.js'
import { combinedStream, type LayerStream } from './layer_stream.js'
import { savedLayer } from './saved_layer.js'
import { featuresOf, signalText } from './signal.js'

/**
 * Gives its input to several branches, each a layer or a list of layers, and joins their outputs along the last dimension.
 * An empty list is the input itself: a skip connection.
 *
 *     concat([lastStep(), meanOverTime(), maxOverTime()])   // [T,B,E] to [B,3·E]
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`, `ERR_NOT_A_LAYER`; when the model is built RangeError `ERR_LAYERS_DO_NOT_FIT`
 */
export function concat(
  branches: readonly (LayerDefinition | readonly LayerDefinition[])[],
  options: LayerOptions = {},
): LayerDefinition {
  checkLayerOptions('concat', options, [])
  checkIsList(branches)
  const chains = branches.map((branch) => (isChain(branch) ? branch : [branch]))
  for (const chain of chains) checkAreLayers('make concat', chain)
  const definition: LayerDefinition = {
    kind: 'concat',
    name: options.name,
    isStepwise: chains.every((chain) => chain.every(({ isStepwise }) => isStepwise)),
    config: { branches: chains.map((chain) => chain.map(savedLayer)) },
    build(input, build) {
      if (input.features === null && chains.some((chain) => chain.length === 0)) {
        throw doesNotFit(definition, input, 'of numbers where a branch is empty')
      }
      const name = build.nameOf(options.name, 'concatenate')
      const layers: Layer[][] = []
      try {
        for (const chain of chains) layers.push(buildChain(chain, input, build))
        const outputs = layers.map((chain) => chain.at(-1)?.output ?? input)
        const [first] = outputs
        const other = outputs.find(({ isSequence }) => isSequence !== first.isSequence)
        if (other !== undefined) {
          throw codedRangeError(
            'ERR_LAYERS_DO_NOT_FIT',
            `Cannot build ${name} (concat) as all branches must give sequences, or none: ${nameOf(layers, 0)} gives ${signalText(first)}, ${nameOf(layers, outputs.indexOf(other))} gives ${signalText(other)}`,
            { layer: name, before: nameOf(layers, 0), expected: signalText(first), actual: signalText(other) },
          )
        }
        const features = outputs.reduce((sum, each) => sum + featuresOf(each), 0)
        const output = { isSequence: first.isSequence, features }
        const variables = layers.flat().flatMap((layer) => layer.variables)
        return new ConcatLayer(build, { definition, name, input, output, variables }, layers)
      } catch (error) {
        for (const layer of layers.flat()) layer.dispose()
        throw error
      }
    },
  }
  return definition
}

export class ConcatLayer extends Layer {
  readonly branches: readonly (readonly Layer[])[]

  constructor({ backend }: LayerBuild, info: LayerInfo, branches: readonly (readonly Layer[])[]) {
    super(backend, info)
    this.branches = branches
  }

  override get stateCount(): number {
    return this.branches.flat().reduce((sum, { stateCount }) => sum + stateCount, 0)
  }

  override stateShapes(batch: number): readonly (readonly number[])[] {
    return this.branches.flat().flatMap((layer) => layer.stateShapes(batch))
  }

  async forward(input: TensorLike, pass: Pass, states: readonly TensorLike[] | null): Promise<Forwarded> {
    const { ops } = this.backend
    const parts: (Forwarded | undefined)[] = []
    const release = () => {
      for (const part of parts) {
        part?.release?.()
        part?.output.dispose()
      }
    }
    let used = 0
    try {
      for (const branch of this.branches) {
        const count = branch.reduce((sum, { stateCount }) => sum + stateCount, 0)
        const own = states?.slice(used, used + count) ?? null
        used += count
        parts.push(branch.length === 0 ? undefined : await forwardChain(branch, input, pass, own))
      }
      const output = ops.concat(parts.map((part) => part?.output ?? input))
      const backward = async (dy: BackendTensor) => {
        const variables: BackendTensor[] = []
        let dInput: BackendTensor | undefined
        let begin = 0
        for (const [index, part] of parts.entries()) {
          const columns = this.#columnsOf(index)
          const slice = ops.columns(dy, begin, columns)
          begin += columns
          const gradients = part === undefined ? { input: slice, variables: [] } : await part.backward(slice)
          if (part !== undefined) slice.dispose()
          variables.push(...gradients.variables)
          if (dInput === undefined) {
            dInput = gradients.input
          } else if (gradients.input !== undefined) {
            ops.accumulate(dInput, gradients.input)
            gradients.input.dispose()
          }
        }
        return { input: dInput, variables }
      }
      return { output, backward, release, states: parts.flatMap((part) => part?.states ?? []) }
    } catch (error) {
      release()
      throw error
    }
  }

  override openStream(batch: number): LayerStream {
    const streams = this.branches.map((branch) => chainStream(branch, batch))
    return combinedStream(streams, async (input) => {
      const outputs = await Promise.all(streams.map((stream) => stream.step(input)))
      const joined = this.backend.ops.concat(outputs)
      for (const output of outputs) if (output !== input && isBackendTensor(output)) output.dispose()
      return joined
    })
  }

  override async randomState(): Promise<ConfigValue> {
    const states = await Promise.all(this.branches.flat().map((layer) => layer.randomState()))
    return states.some((state) => state !== null) ? states : null
  }

  override restoreRandomState(state: ConfigValue): void {
    if (!Array.isArray(state)) return
    for (const [index, layer] of this.branches.flat().entries()) layer.restoreRandomState(state[index] ?? null)
  }

  override dispose(): void {
    for (const layer of this.branches.flat()) layer.dispose()
  }

  #columnsOf(branch: number): number {
    return featuresOf(this.branches[branch].at(-1)?.output ?? this.input)
  }
}

function isChain(branch: LayerDefinition | readonly LayerDefinition[]): branch is readonly LayerDefinition[] {
  return Array.isArray(branch)
}

function checkIsList(branches: unknown): void {
  if (Array.isArray(branches) && branches.length > 0) return
  checkAreLayers('make concat', Array.isArray(branches) ? [undefined as never] : (branches as never))
}

function nameOf(layers: readonly (readonly Layer[])[], branch: number): string {
  return layers[branch].at(-1)?.name ?? `branch ${branch}`
}
