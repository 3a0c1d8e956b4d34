import { expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { detectLauncher } from '../src/index.js'
import { mpiLibraries } from '../src/mpi/mpi_libraries.js'

const OPEN_MPI = { OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '4' }
const HYDRA = { PMI_RANK: '2', PMI_SIZE: '3' }
const BATCH_SCRIPT = { SLURM_PROCID: '0', SLURM_JOB_ID: '7', SLURM_NTASKS: '8' }
const SRUN = { ...BATCH_SCRIPT, SLURM_PROCID: '5', SLURM_STEP_NUM_TASKS: '8' }
const TORCHRUN = { RANK: '0', WORLD_SIZE: '2', LOCAL_RANK: '0', TORCHELASTIC_RUN_ID: 'none' }

it.each([
  ['mpirun of Open MPI', OPEN_MPI, { engine: 'mpi', rank: 1, size: 4 }],
  ['mpirun within a Slurm job', { ...OPEN_MPI, ...SRUN }, { name: 'mpirun of Open MPI', rank: 1, size: 4 }],
  ['mpiexec of MPICH', HYDRA, { engine: 'mpi', rank: 2, size: 3 }],
  ['srun', SRUN, { name: 'srun', engine: 'mpi', rank: 5, size: 8 }],
  ['torchrun', TORCHRUN, { name: 'torchrun', engine: 'nccl', rank: 0, size: 2 }],
  ['PyTorchJob', { RANK: '1', WORLD_SIZE: '2' }, { name: 'PyTorchJob', engine: 'nccl', rank: 1, size: 2 }],
])('detectLauncher recognizes %s', (_, environment, expected) => {
  expect(detectLauncher(environment)).toMatchObject(expected)
})

it('detectLauncher finds none in a shell, nor in the batch script of a Slurm job', () => {
  expect(detectLauncher({ PATH: '/bin' })).toBeUndefined()
  expect(detectLauncher(BATCH_SCRIPT)).toBeUndefined()
  expect(detectLauncher({ RANK: '', WORLD_SIZE: '' })).toBeUndefined()
})

it.each([
  [{ PMI_RANK: '0', PMI_SIZE: 'two' }, /PMI_SIZE must be an integer >= 1: current value is "two"/],
  [{ PMI_RANK: '3', PMI_SIZE: '3' }, /PMI_RANK must be an integer in 0\.\.2: current value is "3"/],
  [{ PMI_RANK: '-1', PMI_SIZE: '3' }, /PMI_RANK/],
])('detectLauncher refuses %o', (environment, message) => {
  const error = coded('ERR_LAUNCHER_ENVIRONMENT', { message: expect.stringMatching(message) })
  expect(() => detectLauncher(environment)).toThrow(error)
})

it('mpiLibraries begins with the family of the launcher', () => {
  const first = (name: string, environment = {}) => mpiLibraries({ name }, environment, 'linux')[0]
  expect(first('mpirun of Open MPI')).toBe('libmpi.so.40')
  expect(first('mpiexec of MPICH')).toBe('libmpi.so.12')
  expect(first('srun', { SLURM_MPI_TYPE: 'pmi2' })).toBe('libmpi.so.12')
  expect(first('srun', { SLURM_MPI_TYPE: 'pmix_v4' })).toBe('libmpi.so.40')
  expect(mpiLibraries(undefined, {}, 'darwin')[0]).toBe('libmpi.40.dylib')
})
