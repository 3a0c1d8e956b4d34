import type { FloatArray, Tensor } from '@cudnn-rnn/canonical'
import { checkedElsewhere, checkOptions, codedRangeError, type OptionsOf } from '@cudnn-rnn/canonical/rules'
import type { TensorLike } from '@cudnn-rnn/ops'
import { ctcBeamSearchDecoder, ctcBlank, type PrefixScorer } from '@cudnn-rnn/train/ctc'
import { featuresOf } from '../signal.js'
import type { LayerExample } from '../training/joined_rows.js'
import { type CtcLoss, checkLoss, isCtc } from '../training/losses.js'
import { greedyLabels } from '../training/output_losses.js'
import { hostScores } from '../training/output_scores.js'
import { PREDICT_OPTIONS, type PredictOptions, predictBatches, predictTensor } from './predict_model.js'
import type { WholeModel } from './whole_model.js'

// The loss and the width are checked by the decoders.
const OPTIONS = {
  ...PREDICT_OPTIONS,
  /** Default: the loss that the model was trained with. Its blank and `ctcMergeRepeated` count. */
  loss: checkedElsewhere<'ctc' | CtcLoss | undefined>(),
  /** Prefixes that a beam search keeps per step. Default 100 where `scorer` is given; else there is no search. */
  beamWidth: checkedElsewhere<number | undefined>(),
}

export interface DecodeOptions<State = undefined> extends PredictOptions, OptionsOf<typeof OPTIONS> {
  /** Scores prefixes of a beam search beside the logits: `characterScorer`, `wordScorer`, or your own. */
  readonly scorer?: PrefixScorer<State> | undefined
}

/** `LayersModel.decode` */
export async function decodeLabels<State>(
  model: WholeModel,
  input: TensorLike | readonly LayerExample['input'][],
  options: DecodeOptions<State>,
): Promise<readonly (readonly number[])[]> {
  const action = 'decode'
  const given = checkOptions(action, options, { ...OPTIONS, scorer: checkedElsewhere() })
  const { beamWidth, scorer, loss: _, ...predicted } = given
  const loss = ctcOf(action, model, given.loss)
  const blank = ctcBlank(action, loss, featuresOf(model.output))
  const labelsOf = (logits: Tensor<FloatArray>, lengths: readonly number[] | Int32Array | null) => {
    if (beamWidth === undefined && scorer === undefined) return greedyLabels(logits, lengths, loss)
    const scores = hostScores(model.graph, logits)
    return ctcBeamSearchDecoder(scores, lengths, { beamWidth, scorer, blank, mergeRepeated: false }).decoded[0]
  }
  if (!Array.isArray(input)) {
    const logits = await predictTensor(model, input as TensorLike, predicted)
    const lengths = predicted.sequenceLengths as Int32Array | null | undefined
    return labelsOf(logits, lengths ? model.outputLengths(Int32Array.from(lengths)) : null)
  }
  const decoded: (readonly number[])[] = []
  for await (const { result, lengths } of predictBatches(model, input as readonly LayerExample['input'][], predicted)) {
    decoded.push(...labelsOf(result, lengths))
  }
  return decoded
}

function ctcOf(action: string, model: WholeModel, given: unknown): CtcLoss {
  const loss = given === undefined ? model.loss : given
  const checked = loss === undefined ? undefined : checkLoss(action, loss, model)
  if (isCtc(checked)) return checked
  throw codedRangeError(
    'ERR_NO_LOSS',
    `Cannot ${action} as the loss must be ctc, of the training or given: current loss is ${String(checked)}`,
  )
}
