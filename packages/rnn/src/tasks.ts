/**
 * Text classification and forecasting. The same module as `@cudnn-rnn/tasks`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/tasks'
