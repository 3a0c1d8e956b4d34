import { mkdtemp, open, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import { EventFile } from '../../src/index.js'

/** Read by TensorBoard's own reader: fixtures/train/read_events.py. */
const fixture = (name: string) => readFile(new URL(`../../../../fixtures/train/${name}`, import.meta.url))

async function written(write: (events: EventFile) => Promise<void>, afterStep?: number): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), 'train-events-'))
  try {
    let seconds = 1_700_000_000 + (afterStep ?? 0)
    const events = await EventFile.create(join(directory, 'logs'), { afterStep, now: () => seconds++ })
    await write(events)
    await events.close()
    return await readFile(events.path)
  } finally {
    await rm(directory, { recursive: true })
  }
}

it('EventFile writes the bytes that TensorBoard was seen to read', async () => {
  const bytes = await written(async (events) => {
    await events.scalar('train/loss', 2.5, 1)
    await events.scalar('train/loss', -0.125, 2 ** 40)
    await events.histogram('lstm/input/weight', [-1, -0.5, 0, 0.25, 2, Number.NaN], 2)
    await events.histogram('one value', [3, 3], 3)
    await events.histogram('nothing', [], 4)
    await events.text('sample', 'Nenne mich *Ismael*: 🐋', 5)
  })
  expect(bytes.equals(await fixture('events.tfevents'))).toBe(true)
})

it('EventFile of a resumed run hides later steps of earlier files', async () => {
  const steps = (from: number, to: number, loss: number) => async (events: EventFile) => {
    for (let step = from; step <= to; step++) await events.scalar('train/loss', loss, step)
  }
  // In TensorBoard steps 1 to 3 have loss 1, and 4 and 5 loss 2: step 4 of the killed process is hidden.
  const files = { killed: await written(steps(1, 4, 1)), resumed: await written(steps(4, 5, 2), 3) }
  for (const [name, bytes] of Object.entries(files)) {
    expect(bytes.equals(await fixture(`resumed_run/events.out.tfevents.${name}`))).toBe(true)
  }
})

it('EventFile takes another name where its own is taken, and writes through no symbolic link', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'train-events-'))
  try {
    const now = () => 1_700_000_000
    const target = join(directory, 'target')
    await writeFile(target, 'precious')
    const first = await EventFile.create(directory, { now })
    await first.close()
    await rm(first.path)
    await symlink(target, first.path)
    const [second, third] = [await EventFile.create(directory, { now }), await EventFile.create(directory, { now })]
    await Promise.all([second.close(), third.close()])
    expect([second.path, third.path]).toEqual([`${first.path}.1`, `${first.path}.2`])
    expect(await readFile(target, 'utf8')).toBe('precious')
    await expect(EventFile.create(join(target, 'events'))).rejects.toMatchObject({ code: 'ERR_LOG_IO' })
  } finally {
    await rm(directory, { recursive: true })
  }
})

it('EventFile leaves no part of a record that a full disk cuts off, and no file that it cannot begin', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'train-events-'))
  const events = await EventFile.create(directory)
  const before = await readFile(events.path)
  const other = await open(events.path, 'r')
  const prototype = Object.getPrototypeOf(other) as { write: (...args: unknown[]) => Promise<object> }
  await other.close()
  const write = prototype.write
  const stub = vi.spyOn(prototype, 'write').mockImplementation(async function (this: unknown, ...args: unknown[]) {
    const [bytes, offset] = args as [Uint8Array, number]
    if (offset > 0) throw Object.assign(new Error('ENOSPC: no space left on device'), { syscall: 'write' })
    return await write.call(this, bytes, 0, 9)
  })
  try {
    await expect(events.scalar('loss', 1, 1)).rejects.toThrow(coded('ERR_LOG_IO'))
    await expect(EventFile.create(directory)).rejects.toThrow(coded('ERR_LOG_IO'))
  } finally {
    stub.mockRestore()
  }
  expect(await readFile(events.path)).toEqual(before)
  expect(await readdir(directory)).toHaveLength(1)
  await events.close()
  await rm(directory, { recursive: true })
})
