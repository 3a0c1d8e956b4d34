/** The cases that a run registers: all, or a subset that holds every pair of attribute values. */
export type Extent = 'all' | 'covering'

/** `all` in `npm run test:all` and the nightly workflow, which set CUDNN_RNN_TESTS=all. */
export const requestedExtent: Extent =
  typeof process === 'object' && process.env['CUDNN_RNN_TESTS'] === 'all' ? 'all' : 'covering'
