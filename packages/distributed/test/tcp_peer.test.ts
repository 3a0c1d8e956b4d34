import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { TcpPeer } from '../src/nccl/tcp_peer.js'

/** One end of a connection: `written` are the bytes that it sends. */
class TestSocket extends EventEmitter {
  readonly written: Buffer[] = []
  /** Uses that keep the event loop alive. */
  refs = 0
  setNoDelay(): void {}
  setKeepAlive(): void {}
  ref(): void {
    this.refs++
  }
  unref(): void {
    this.refs--
  }
  write(bytes: Buffer): void {
    this.written.push(Buffer.from(bytes))
  }
  destroy(error?: Error): void {
    if (error !== undefined) this.emit('error', error)
    this.emit('close')
  }
}

function peer() {
  const socket = new TestSocket()
  const made = new TcpPeer(socket as unknown as Socket)
  const frames: [string, number[]][] = []
  const losses: string[] = []
  made.onFrame = (kind, bytes) => frames.push([kind, [...bytes]])
  made.onLost = (reason) => losses.push(reason)
  return { peer: made, socket, frames, losses, receive: (bytes: Buffer) => void socket.emit('data', bytes) }
}

/** The bytes on the wire: length and kind, then the message. */
const frame = (kind: number, ...bytes: number[]) => Buffer.from([bytes.length, 0, 0, 0, kind, ...bytes])
const [MESSAGE, FAILURE, ROLL_CALL] = [0, 1, 2]

describe('TcpPeer', () => {
  it('sends a frame as one piece: its length, its kind, its bytes', () => {
    const { peer: own, socket } = peer()
    own.send('message', Uint8Array.of(7, 8))
    own.send('roll', new Uint8Array(0))
    const long = new Uint8Array(70_000).fill(3)
    own.send('failure', long)
    expect(socket.written.slice(0, 2).map((piece) => [...piece])).toEqual([
      [2, 0, 0, 0, 0, 7, 8],
      [0, 0, 0, 0, 4],
    ])
    expect([...socket.written[2]!.subarray(0, 6)]).toEqual([0x70, 0x11, 1, 0, 1, 3])
    expect(socket.written[2]).toHaveLength(70_005)
  })

  it.each([1, 2, 5, 6, 7, 100])('receives frames that arrive in pieces of %i bytes', async (size) => {
    const { peer: own, frames, receive } = peer()
    const bytes = Buffer.concat([
      frame(MESSAGE, 1, 2, 3),
      frame(ROLL_CALL),
      frame(MESSAGE),
      frame(FAILURE, 9),
      frame(MESSAGE, 4),
    ])
    for (let at = 0; at < bytes.length; at += size) receive(bytes.subarray(at, at + size))
    expect([await own.next(), await own.next(), await own.next()].map((message) => [...message])).toEqual([
      [1, 2, 3],
      [],
      [4],
    ])
    expect(frames).toEqual([
      ['rollCall', []],
      ['failure', [9]],
    ])
  })

  it('gives each message to one call, also to a call that waits for it', async () => {
    const { peer: own, receive } = peer()
    const first = own.next()
    receive(Buffer.concat([frame(MESSAGE, 1), frame(MESSAGE, 2)]))
    expect([...(await first)]).toEqual([1])
    expect([...(await own.next())]).toEqual([2])
  })

  it('copies messages, so that later pieces do not change them', async () => {
    const { peer: own, receive } = peer()
    const piece = frame(MESSAGE, 1, 2)
    receive(piece)
    piece.fill(0xff)
    expect([...(await own.next())]).toEqual([1, 2])
  })

  it('keeps the event loop alive during a wait only', async () => {
    const { peer: own, socket, receive } = peer()
    const waiting = own.next()
    expect(socket.refs).toBe(1)
    receive(frame(MESSAGE))
    await waiting
    expect(socket.refs).toBe(0)
    const lost = own.next()
    socket.destroy()
    await expect(lost).rejects.toThrow('it closed its connection')
    expect(socket.refs).toBe(0)
  })

  it('delivers messages that arrived before the end, and the reason of the end afterwards', async () => {
    const { peer: own, socket, losses, receive } = peer()
    receive(frame(MESSAGE, 1))
    socket.destroy(new Error('read ECONNRESET'))
    expect([...(await own.next())]).toEqual([1])
    await expect(own.next()).rejects.toThrow('read ECONNRESET')
    await expect(own.next()).rejects.toThrow('read ECONNRESET')
    // The close that follows is not a second end.
    expect(losses).toEqual(['read ECONNRESET'])
    expect(own.lost).toBe('read ECONNRESET')
  })

  it('takes 4 KiB before it trusts the other end, and any length afterwards', async () => {
    const long = Buffer.concat([Buffer.from([0, 16, 0, 0, 0]), Buffer.alloc(4096)])
    const stranger = peer()
    stranger.receive(long)
    expect([stranger.losses.length, stranger.peer.lost]).toEqual([1, expect.stringContaining('too long')])
    const { peer: own, receive } = peer()
    own.trust()
    receive(long)
    expect(await own.next()).toHaveLength(4096)
  })

  it('ends the connection whose frame cannot be read, and throws nothing', () => {
    const { peer: own, receive } = peer()
    own.onFrame = (_, bytes) => JSON.parse(String(bytes))
    receive(frame(ROLL_CALL))
    expect(own.lost).toBe('it sent a message that cannot be read')
  })

  it.each([
    ['of an unknown kind', Buffer.from([0, 0, 0, 0, 5])],
    ['longer than any message', Buffer.from([0xff, 0xff, 0xff, 0xff, 0])],
  ])('ends the connection at a frame %s, and takes nothing behind it', async (_, bytes) => {
    const { peer: own, losses, frames, receive } = peer()
    const waiting = own.next()
    receive(Buffer.concat([bytes, frame(ROLL_CALL), frame(MESSAGE, 1)]))
    await expect(waiting).rejects.toThrow('it sent a message that is too long or of no known kind')
    expect(losses).toHaveLength(1)
    expect(frames).toEqual([])
  })
})
