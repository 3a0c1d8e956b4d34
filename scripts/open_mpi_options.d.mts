/** Options of mpirun of Open MPI for tests, whose ranks share one host. */
export const OPEN_MPI_OPTIONS: readonly string[]
