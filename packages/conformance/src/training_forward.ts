import { required } from '@cudnn-rnn/canonical/rules'
import type { Rnn, RnnForwardResult, Tape } from '@cudnn-rnn/ops'
import type { RnnForwardInputs } from '@cudnn-rnn/ops/executor'

/** A result of training: it has a tape. */
export interface TrainingResult extends RnnForwardResult {
  readonly tape: Tape
}

/** A training forward. Rejects with `ERR_BROKEN_INVARIANT` if the executor returns no tape. */
export async function trainingForward(
  rnn: Pick<Rnn, 'forward'>,
  inputs: Omit<RnnForwardInputs, 'training'>,
): Promise<TrainingResult> {
  const result = await rnn.forward({ ...inputs, training: true })
  return { ...result, tape: required(result.tape, 'a training forward has a tape') }
}
