/** The cases that a run registers: all, or a subset that holds every pair of attribute values. */
export type Extent = 'all' | 'covering'

const requested = typeof process === 'object' ? process.env['CUDNN_RNN_TESTS'] : undefined

/** `all` in `npm run test:all` and the nightly workflow, which set CUDNN_RNN_TESTS=all. */
export const requestedExtent: Extent = requested === 'all' ? 'all' : 'covering'

/**
 * The extent of the executors that run everything in every test run. CUDNN_RNN_TESTS=covering is for a run of the same tests
 * on another build or runtime: there they have the subset too.
 */
export const usualExtent: Extent = requested === 'covering' ? 'covering' : 'all'
