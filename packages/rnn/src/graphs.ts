/**
 * ONNX models over ONNX Runtime, with their states. The same module as `@cudnn-rnn/graphs`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/graphs'
