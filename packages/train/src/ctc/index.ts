/**
 * Connectionist temporal classification: the loss that trains a recurrent network to read sequences without knowing where
 * each label is, decoders with language models, and error rates.
 *
 * The loss runs on any executor; decoders run on the host.
 *
 * @example
 * ```ts
 * import { openBackend } from '@cudnn-rnn/rnn'
 * import { ctcGreedyDecoder, ctcLoss, labelErrorRate } from '@cudnn-rnn/rnn/ctc'
 *
 * const backend = await openBackend('reference')
 * const logits = backend.tensor({ data: Float32Array.from({ length: 8 * 1 * 3 }, (_, k) => Math.sin(k)), shape: [8, 1, 3] })
 * for (let step = 0; step < 100; step++) {
 *   const { logitsGradient } = await ctcLoss(backend, { logits, labels: [[0, 1, 1]] })
 *   backend.ops.update('sgd', logits, [], logitsGradient, { learningRate: 1 })
 * }
 * const { decoded } = ctcGreedyDecoder(await logits.read(), null)
 * console.log(decoded, labelErrorRate(decoded, [[0, 1, 1]]).rate) // [[0, 1, 1]] 0
 * ```
 * @packageDocumentation
 */

// Loss

export type { Blank } from './blank.js'
export type { CtcConvention, Reduction } from './ctc_convention.js'
export { type CtcLossOptions, ctcLoss } from './ctc_loss.js'
export { type CtcLossSettings, checkCtcLossSettings, ctcBlank } from './ctc_loss_settings.js'
export type { CtcLabels } from '@cudnn-rnn/ops/executor'

// Decoding

export {
  type BeamSearchDecoderOptions,
  type BeamSearchDecoderResult,
  ctcBeamSearchDecoder,
} from './beam_search_decoder.js'
export { ctcGreedyDecoder, type GreedyDecoderOptions, type GreedyDecoderResult } from './greedy_decoder.js'
export type { PrefixScorer } from './prefix_scorer.js'

// Language models

export { type CharacterScorerOptions, characterScorer } from './language/character_scorer.js'
export { NGramModel, type NGramOptions, type SavedNGramModel } from './language/ngram_model.js'
export { type WordScorerOptions, type WordState, wordScorer } from './language/word_scorer.js'

// Error rates

export {
  type EditDistanceOptions,
  editDistance,
  type LabelErrors,
  labelErrorRate,
  type Sequence,
} from './edit_distance.js'
