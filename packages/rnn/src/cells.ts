/**
 * TensorFlow's recurrent cells and the functions that run them over sequences. The same module as `@cudnn-rnn/cells`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/cells'
