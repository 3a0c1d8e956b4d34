/**
 * TensorFlow checkpoint files. The same module as `@cudnn-rnn/checkpoint`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/checkpoint'
