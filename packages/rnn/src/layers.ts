/**
 * Layers and whole models: `sequential`, training, prediction, saving, Keras and ONNX. The same module as `@cudnn-rnn/layers`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/layers'
