/**
 * Communicators between the processes that a launcher started. The same module as `@cudnn-rnn/distributed`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/distributed'
