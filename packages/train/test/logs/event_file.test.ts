import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { EventFile } from '../../src/index.js'

/** Read by TensorFlow's own reader: fixtures/train/read_events.py. */
const FIXTURE = new URL('../../../../fixtures/train/events.tfevents', import.meta.url)

async function written(): Promise<Uint8Array> {
  const directory = await mkdtemp(join(tmpdir(), 'train-events-'))
  try {
    let seconds = 1_700_000_000
    const events = await EventFile.create(join(directory, 'logs'), { now: () => seconds++ })
    await events.scalar('train/loss', 2.5, 1)
    await events.scalar('train/loss', -0.125, 2 ** 40)
    await events.histogram('lstm/input/weight', [-1, -0.5, 0, 0.25, 2, Number.NaN], 2)
    await events.histogram('one value', [3, 3], 3)
    await events.histogram('nothing', [], 4)
    await events.text('sample', 'Nenne mich *Ismael*: 🐋', 5)
    await events.close()
    return await readFile(events.path)
  } finally {
    await rm(directory, { recursive: true })
  }
}

it('EventFile writes the bytes that TensorFlow was seen to read', async () => {
  expect(Buffer.from(await written()).equals(await readFile(FIXTURE))).toBe(true)
})
