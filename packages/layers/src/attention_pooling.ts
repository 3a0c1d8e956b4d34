import { FLAG, integerFrom, type OptionsOf, optional } from '@cudnn-rnn/arguments'
import type { BackendTensor, TensorLike } from '@cudnn-rnn/backend'
import type { Forwarded } from './forwarded.js'
import { Layer, type LayerDefinition, type Pass } from './layer.js'
import { INITIALIZER, type VariableSpec } from './layer_build.js'
import {
  checkInputRule,
  checkLayerOptions,
  invalidOption,
  LAYER_OPTIONS,
  type LayerOptions,
  SEQUENCE,
} from './layer_options.js'
import { featuresOf } from './signal.js'
import { UnfinishedTensors } from './unfinished_tensors.js'

const OPTIONS = {
  ...LAYER_OPTIONS,
  /** A, size of the hidden layer of the scores. Default E. */
  units: optional(integerFrom(1)),
  /** True: the scores are v·x, without a hidden layer. The variable is `context` [E,1] alone. Default false. */
  isLinear: optional(FLAG),
  /** Of `context`. Default `glorot_uniform`. */
  contextInitializer: INITIALIZER,
}

/** Options of {@link attentionPooling}. */
export interface AttentionPoolingOptions extends LayerOptions, OptionsOf<typeof OPTIONS> {}

/**
 * A weighted mean over a row's steps, [T,B,E] to [B,E]; the weights are the softmax over time of v·tanh(x·kernel + bias), as
 * in Yang et al., "Hierarchical attention networks for document classification" (2016). Variables: `kernel` [E,A], `bias` [A],
 * `context` [A,1].
 *
 * @throws TypeError `ERR_UNKNOWN_OPTION`; RangeError `ERR_INVALID_OPTION`
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { attentionPooling, sequential } from '@cudnn-rnn/rnn/layers'
 *
 * const backend = await openBackend('reference')
 * const model = sequential(backend, [attentionPooling({ units: 4 })], { inputSize: 3, seed: 1 })
 * const input = { data: new Float32Array(5 * 2 * 3), shape: [5, 2, 3] } // [T,B,E]
 * console.log((await model.predict(input, { sequenceLengths: [5, 2] })).shape) // [2, 3]
 * ```
 */
export function attentionPooling(options: AttentionPoolingOptions = {}): LayerDefinition {
  const kind = 'attentionPooling'
  checkLayerOptions(kind, options, OPTIONS)
  const { units: given, isLinear = false, contextInitializer = 'glorot_uniform' } = options
  if (isLinear && given !== undefined) throw invalidOption(kind, 'units', 'absent for linear scores', given)
  const definition: LayerDefinition = {
    kind,
    name: options.name,
    config: { ...(given !== undefined && { units: given }), ...(isLinear && { isLinear }) },
    build(input, build) {
      checkInputRule(definition, input, SEQUENCE)
      const name = build.nameOf(options.name, 'attention_pooling')
      const features = featuresOf(input)
      const units = given ?? features
      const hidden: readonly VariableSpec[] = [
        ['kernel', [features, units], 'glorot_uniform'],
        ['bias', [units], 0],
      ]
      const variables = build.variables(name, [
        ...(isLinear ? [] : hidden),
        ['context', [units, 1], contextInitializer],
      ])
      const output = { isSequence: false, features }
      const AttentionLayer = isLinear ? LinearAttentionLayer : AttentionPoolingLayer
      return new AttentionLayer(build.backend, { definition, name, input, output, variables })
    },
  }
  return definition
}

/** Scores v·x. */
class LinearAttentionLayer extends Layer {
  async forward(input: TensorLike, { lengths }: Pass): Promise<Forwarded> {
    const { ops } = this.backend
    const context = this.variables[0].value
    using none = this.backend.zeros([1])
    using scores = ops.linear(input, context, none)
    const { output, weights } = ops.attend(input, scores, lengths)
    const backward = (dy: BackendTensor) => {
      using made = new UnfinishedTensors()
      const attended = ops.attendGradients(input, weights, dy)
      made.add(attended.input)
      using dScores = attended.scores
      const gradients = ops.linearGradients(input, context, dScores)
      made.add(gradients.kernel)
      using throughScores = gradients.input
      gradients.bias.dispose()
      ops.accumulate(attended.input, throughScores)
      return made.finish({ input: attended.input, variables: [gradients.kernel] })
    }
    return { output, backward, release: () => weights.dispose() }
  }
}

class AttentionPoolingLayer extends Layer {
  async forward(input: TensorLike, { lengths }: Pass): Promise<Forwarded> {
    const { ops } = this.backend
    const [kernel, bias, context] = this.variables.map(({ value }) => value) as [
      BackendTensor,
      BackendTensor,
      BackendTensor,
    ]
    using made = new UnfinishedTensors()
    using product = ops.linear(input, kernel, bias)
    const hidden = made.add(ops.activate(product, 'tanh'))
    // A bias of the scores would add one number to all scores of a row, which their softmax cancels.
    using none = this.backend.zeros([1])
    using scores = ops.linear(hidden, context, none)
    const { output, weights } = ops.attend(input, scores, lengths)
    const backward = (dy: BackendTensor) => {
      using gradients = new UnfinishedTensors()
      const attended = ops.attendGradients(input, weights, dy)
      gradients.add(attended.input)
      using dScores = attended.scores
      const top = ops.linearGradients(hidden, context, dScores)
      gradients.add(top.kernel)
      top.bias.dispose()
      using dHidden = top.input
      using dProduct = ops.activationGradient(hidden, dHidden, 'tanh')
      const bottom = ops.linearGradients(input, kernel, dProduct)
      using throughScores = bottom.input
      const variables = [gradients.add(bottom.kernel), gradients.add(bottom.bias), top.kernel]
      ops.accumulate(attended.input, throughScores)
      return gradients.finish({ input: attended.input, variables })
    }
    const release = () => {
      hidden.dispose()
      weights.dispose()
    }
    return made.finish({ output, backward, release })
  }
}
