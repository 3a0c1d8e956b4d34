/**
 * Weights of PyTorch, Keras, ONNX, TensorFlow, Flax and NumPy files. The same module as `@cudnn-rnn/interop`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/interop'
