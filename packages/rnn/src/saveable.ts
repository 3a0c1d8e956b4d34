/**
 * `RNNParamsSaveable`, `Saver` and the saveables of TensorFlow's later releases. The same module as `@cudnn-rnn/saveable`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/saveable'
