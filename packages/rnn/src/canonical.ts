/**
 * The layout of parameters: descriptors, regions, packing, gate orders of other frameworks. The same module as `@cudnn-rnn/canonical`.
 * @packageDocumentation
 */
export * from '@cudnn-rnn/canonical'
