import { hasErrorCode } from '@cudnn-rnn/canonical/rules'
import { COMMUNICATOR_CASES, localCommunicators } from '@cudnn-rnn/conformance/communicators'
import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { CheckedCommunicator } from '../src/checked_communicator.js'
import { CommunicatorError, openCommunicator } from '../src/index.js'

/** The variables that would make this process a rank are not set in tests. */
it('openCommunicator gives a communicator of size 1 without a launcher', async () => {
  await using world = await openCommunicator()
  expect(world).toMatchObject({ engine: 'none', rank: 0, size: 1, localRank: 0, localSize: 1 })
  expect(world.reason).toBe('none: no launcher has started this process')
})

it('openCommunicator names the launcher if there is no engine for it', async () => {
  const error = await openCommunicator('nccl').catch((reason: unknown) => reason)
  expect(hasErrorCode(error, 'ERR_COMMUNICATOR_UNAVAILABLE')).toBe(true)
})

it('openCommunicator lists its attempts where no library is an MPI', async () => {
  const opened = openCommunicator('mpi', { library: 'libmissing_mpi.so' })
  const error: unknown = await opened.catch((reason: unknown) => reason)
  if (!(error instanceof CommunicatorError)) throw error
  expect(error.attempts.length).toBeGreaterThan(0)
  // Without the addon its places were tried.
  expect(error.message).toMatch(/libmissing_mpi\.so.* Install one \(Debian|npm run build:native builds it/)
})

it.each([
  ['an unknown engine', ['gloo'], 'ERR_INVALID_OPTION'],
  ['no engine name', [7], 'ERR_INVALID_ARGUMENT'],
  ['no time at all', ['none', { timeoutSeconds: 0 }], 'ERR_INVALID_OPTION'],
  ['more time than a timer takes', ['none', { timeoutSeconds: 1e7 }], 'ERR_INVALID_OPTION'],
  ['an unknown option', ['none', { timeout: 5 }], 'ERR_UNKNOWN_OPTION'],
])('openCommunicator refuses %s', async (_, given, code) => {
  await expect(openCommunicator(...(given as ['none']))).rejects.toThrow(coded(code))
})

describe('a communicator of one rank', async () => {
  const world = await openCommunicator('none')
  it.each(COMMUNICATOR_CASES.map(({ name, run }) => [name, run] as const))('%s', (_, run) => run(world))
})

describe.each([2, 3])('a communicator of %d ranks of one thread', (size) => {
  const worlds = localCommunicators(size).map(
    (local) =>
      new CheckedCommunicator(local, {
        allReduce: (array, op) => local.allReduce(array, { op }),
        broadcast: (bytes, root) => local.broadcast(bytes, root),
        allGather: (bytes) => local.allGather(bytes),
        barrier: () => local.barrier(),
        abort: (reason) => local.abort(reason),
        close: () => local.dispose(),
      }),
  )
  it.each(COMMUNICATOR_CASES.map(({ name, run }) => [name, run] as const))('%s', async (_, run) => {
    await Promise.all(worlds.map(run))
  })
})
