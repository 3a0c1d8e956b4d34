/**
 * Text classification and forecasting. The same module as `@cudnn-rnn/layers/tasks`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/layers/tasks'
