import type { CudnnGRU, CudnnLSTM, FitOptions } from '@cudnn-rnn/rnn'

/**
 * The generator of a model's dropout masks, as `fit` saves and restores it. It means something only to the executor that
 * drew the masks, and nothing where none are drawn: then another executor may go on.
 */
export function dropoutState(
  model: CudnnGRU | CudnnLSTM,
  dropout: number,
): Pick<NonNullable<FitOptions<unknown>['state']>, 'save' | 'restore'> {
  if (dropout === 0) return {}
  return {
    save: async () => Buffer.from(await model.dropoutState()).toString('base64'),
    restore: (saved) => model.restoreDropoutState(Uint8Array.from(Buffer.from(String(saved), 'base64'))),
  }
}
