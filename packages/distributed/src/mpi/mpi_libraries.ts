import type { Launcher } from '../launcher.js'

/** Names of the library by its binary interface. */
const NAMES = {
  linux: {
    openMpi: ['libmpi.so.40'],
    mpich: ['libmpi.so.12', 'libmpich.so.12'],
    any: ['libmpi_abi.so.0', 'libmpi.so'],
  },
  darwin: {
    openMpi: ['libmpi.40.dylib', '/opt/homebrew/lib/libmpi.40.dylib', '/usr/local/lib/libmpi.40.dylib'],
    mpich: ['libmpi.12.dylib', '/opt/homebrew/lib/libmpi.12.dylib', '/usr/local/lib/libmpi.12.dylib'],
    any: ['libmpi_abi.0.dylib', 'libmpi.dylib'],
  },
}

/**
 * The MPI libraries to try under a launcher, in order: its own family, then any. srun starts both, by the plugin that
 * `--mpi` chooses.
 */
export function mpiLibraries(
  launcher: Pick<Launcher, 'name'> | undefined,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  platform: string = process.platform,
): string[] {
  const { openMpi, mpich, any } = platform === 'darwin' ? NAMES.darwin : NAMES.linux
  const isMpich =
    launcher?.name === 'mpiexec of MPICH' ||
    (launcher?.name === 'srun' && /^pmi2|cray/.test(environment['SLURM_MPI_TYPE'] ?? ''))
  return isMpich ? [...mpich, ...any, ...openMpi] : [...openMpi, ...any, ...mpich]
}
