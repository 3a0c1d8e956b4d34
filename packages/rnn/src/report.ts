/**
 * Terminal progress, charts and HTML pages of training runs. The same module as `@cudnn-rnn/report`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/report'
