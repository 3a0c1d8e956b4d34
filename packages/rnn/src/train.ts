/**
 * Losses, optimizers, data pipelines, the training loop, decoding and logs. The same module as `@cudnn-rnn/train`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/train'
