import type { ChildProcessWithoutNullStreams, SpawnOptions } from 'node:child_process'

/** Options of mpirun of Open MPI for tests, whose ranks share one host. */
export const OPEN_MPI_OPTIONS: readonly string[]

/** Starts a launcher of MPI with a temporary folder for it alone. */
export function startLauncher(
  command: string,
  args: readonly string[],
  options: SpawnOptions,
): ChildProcessWithoutNullStreams
