/**
 * CTC loss, decoders, language models and error rates. The same module as `@cudnn-rnn/ctc`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/ctc'
