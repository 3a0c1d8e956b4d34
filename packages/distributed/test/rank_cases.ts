const { CUDNN_RNN_TESTS: extent } = process.env

/** All cases: `npm run test:all` and the nightly workflow, which set CUDNN_RNN_TESTS=all. */
export const isWhole = extent === 'all'

/**
 * 1 to 4 ranks, and each MPI that is installed: the check `ranks` of CI sets CUDNN_RNN_TESTS=ranks. A start of processes takes
 * a second, and a case of a deadline takes that deadline, so other test runs have two ranks, mostly over one MPI.
 */
export const areRanksWhole = isWhole || extent === 'ranks'
