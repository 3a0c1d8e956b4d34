/**
 * CTC loss, decoders, language models and error rates. The same module as `@cudnn-rnn/train/ctc`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/train/ctc'
