import type { BackendTensor, Tape, TensorLike } from '@cudnn-rnn/ops'
import { type CudnnGRU, CudnnLSTM, type RecurrentModel, type Variable } from '@cudnn-rnn/models'
import type { CallStatement, Pass } from './program.js'

/** Result of a call of any of the four models. */
export interface Called {
  readonly output: BackendTensor
  readonly outputH: BackendTensor
  readonly outputC?: BackendTensor
  readonly tape: Tape | undefined
}

/** Calls any of the four models. */
export function callModel(
  model: RecurrentModel,
  input: TensorLike,
  h: TensorLike | null,
  c: TensorLike | null,
  params: Variable,
  { time, batch, lengths, training = true, fault }: Pass & Partial<Pick<CallStatement, 'training' | 'fault'>>,
): Promise<Called> {
  const rows = Array.from({ length: batch }, (_, row) => row)
  const sequenceLengths = lengths && rows.map((row) => lengths[row % lengths.length] % (time + 1))
  if (fault === 'lengthTooLong') sequenceLengths?.splice(0, 1, time + 1)
  if (fault === 'lengthNaN') sequenceLengths?.splice(0, 1, Number.NaN)
  if (fault === 'lengthMissing') sequenceLengths?.pop()
  const options = {
    isTraining: training,
    ...(sequenceLengths && { sequenceLengths }),
    ...(fault === 'unknownOption' && { training: true }),
  }
  if (model instanceof CudnnLSTM) return model.call(input, h, c, params, options) as Promise<Called>
  return (model as CudnnGRU).call(input, h, params, options) as Promise<Called>
}

/** The gradients of any of the four models. */
export function modelGradients(
  model: RecurrentModel,
  tape: Tape,
  gradients: Readonly<Record<string, TensorLike | undefined>>,
): Promise<Readonly<Record<'input' | 'inputH' | 'params', BackendTensor> & { readonly inputC?: BackendTensor }>> {
  return (model as CudnnLSTM | CudnnGRU).gradients(tape, gradients)
}
