/**
 * Options of mpirun of Open MPI for tests, whose ranks share one host. Without `^tcp` Open MPI 5 warns on stderr that it finds
 * no "reachable pairing" of the host's interfaces with themselves (open-mpi/ompi#14079); the processes of one host use shared
 * memory.
 */
export const OPEN_MPI_OPTIONS = ['--allow-run-as-root', '--oversubscribe', '--bind-to', 'none', '--mca', 'btl', '^tcp']
