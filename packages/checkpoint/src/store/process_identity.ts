import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { crc32c } from '../crc32c.js'

/**
 * The owner of a file: part of the name of every temporary file and the first line of every lock, so that a later process
 * can decide whether the owner still runs.
 *
 *     <host>-<pid>-<thread>-<start>-<random>
 *
 * - host: the CRC-32C of host name, boot and pid namespace. Process ids are comparable only if it is the same.
 * - pid and thread: worker threads share a pid, and a terminated worker leaves files while its process runs. Linux
 *   names threads; elsewhere the thread is 0.
 * - start: the thread's start in clock ticks since boot, which distinguishes a reused id from the owner; 0 if unknown.
 * - random: 128 bits. It makes the name unpredictable, and one owner's files distinct.
 */
export interface Owner {
  readonly token: string
  readonly host: string
  readonly pid: number
  readonly thread: number
  readonly start: number
}

/** `unknown`: the owner may run elsewhere, or its id may have been reused; only the age of its file can decide. */
export type OwnerState = 'running' | 'ended' | 'unknown'

const TOKEN = /^([0-9a-f]{8})-(\d{1,10})-(\d{1,10})-(\d{1,20})-[0-9a-f]{32}$/

let self: Omit<Owner, 'token'> | undefined

/** A token of this thread; every call returns another one. */
export function createOwnerToken(): string {
  const { host, pid, thread, start } = ownIdentity()
  return `${host}-${pid}-${thread}-${start}-${randomUUID().replaceAll('-', '')}`
}

/** Undefined for text that is not a token. */
export function parseOwnerToken(token: string): Owner | undefined {
  const match = TOKEN.exec(token)
  if (match === null) return undefined
  const [, host = '', pid, thread, start] = match
  return { token, host, pid: Number(pid), thread: Number(thread), start: Number(start) }
}

/** Whether the thread that made a token still runs. */
export function ownerState({ host, pid, thread, start }: Owner): OwnerState {
  const own = ownIdentity()
  if (host !== own.host) return 'unknown'
  if (pid === own.pid && thread === own.thread && start === own.start) return 'running'
  const exists = processExists(pid)
  if (exists === false) return 'ended'
  if (start === 0) return 'unknown'
  const startNow = threadStart(pid, thread)
  if (startNow === start) return 'running'
  // A process of another user may be hidden (/proc mounted with hidepid): then its absence proves nothing.
  return exists === undefined && startNow === undefined ? 'unknown' : 'ended'
}

function ownIdentity(): Omit<Owner, 'token'> {
  self ??= readIdentity()
  return self
}

function readIdentity(): Omit<Owner, 'token'> {
  const linux = (read: () => string) => {
    try {
      return process.platform === 'linux' ? read().trim() : ''
    } catch {
      return ''
    }
  }
  const boot = linux(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1'))
  const namespace = linux(() => readlinkSync('/proc/self/ns/pid'))
  const identity = new TextEncoder().encode(`${hostname()}\n${boot}\n${namespace}`)
  const host = crc32c(identity).toString(16).padStart(8, '0')
  // The call runs on this very thread: `<pid>/task/<thread>`.
  const thread = Number(linux(() => readlinkSync('/proc/thread-self')).split('/')[2] ?? 0)
  const start = threadStart(process.pid, thread) ?? 0
  return { host, pid: process.pid, thread, start }
}

/** Undefined if the process exists and belongs to someone else. */
function processExists(pid: number): boolean | undefined {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH' ? false : undefined
  }
}

/** Field 22 of `/proc/<pid>/task/<thread>/stat`; undefined if the thread does not exist or is a zombie. */
function threadStart(pid: number, thread: number): number | undefined {
  if (process.platform !== 'linux' || thread === 0) return undefined
  try {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1')
    // Field 2 is the command in parentheses and may hold its own spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : Number(fields[19])
  } catch {
    return undefined
  }
}
