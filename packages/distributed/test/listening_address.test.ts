import { networkInterfaces } from 'node:os'
import { expect, it } from 'vitest'
import { listeningAddress } from '../src/nccl/nccl_communicator.js'

const own = Object.values(networkInterfaces())
  .flatMap((addresses = []) => addresses)
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address

it.each<readonly [string, boolean, string | undefined]>([
  ['127.0.0.1', true, '127.0.0.1'],
  ['::1', true, '::1'],
  // The master of a PyTorchJob, whose other ranks are on other hosts.
  ['127.0.0.1', false, undefined],
  ...(own === undefined ? [] : [[own, false, own] as const]),
  // Behind an address translation.
  ['192.0.2.1', false, undefined],
  ['no.such.host.invalid', false, undefined],
])('the first rank at %s, all on one host %s, listens at %s', async (host, isOneHost, address) => {
  expect(await listeningAddress(host, isOneHost)).toBe(address)
})
