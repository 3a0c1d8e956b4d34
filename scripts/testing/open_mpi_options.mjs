import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Options of mpirun of Open MPI for tests, whose ranks share one host. Without `^tcp` Open MPI 5 warns on stderr that it finds
 * no "reachable pairing" of the host's interfaces with themselves (open-mpi/ompi#14079); the processes of one host use shared
 * memory.
 */
export const OPEN_MPI_OPTIONS = ['--allow-run-as-root', '--oversubscribe', '--bind-to', 'none', '--mca', 'btl', '^tcp']

/**
 * Starts a launcher of MPI with a temporary folder for it alone, removed after it. Launchers of Open MPI that run side by side
 * have one folder of sessions for the user of the host: one that ends removes it while another makes its own inside.
 */
export function startLauncher(command, args, { env, ...options }) {
  const folder = mkdtempSync(join(tmpdir(), 'mpi-'))
  const child = spawn(command, args, { ...options, env: { ...env, TMPDIR: folder } })
  child.on('close', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  return child
}
