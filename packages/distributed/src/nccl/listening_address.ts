import { lookup } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'

/**
 * The address at which the first rank listens: the one that `host`, MASTER_ADDR, names. Undefined, for all addresses, if it names
 * none of this host (behind an address translation), or the loopback interface while other ranks are on other hosts: a
 * PyTorchJob sets `localhost` for its master.
 */
export async function listeningAddress(host: string, isOneHost: boolean): Promise<string | undefined> {
  const { address } = await lookup(host).catch(() => ({ address: '' }))
  if (/^127\.|^::1$/.test(address)) return isOneHost ? address : undefined
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses)
  return own.some((each) => each.address === address) ? address : undefined
}
