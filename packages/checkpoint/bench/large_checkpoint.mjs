// Speed and memory of large checkpoints, against a plain copy of the same bytes with a checksum, in the same run.
// Run after a build: node packages/checkpoint/bench/large_checkpoint.mjs [GiB] [directory]
import { fork } from 'node:child_process'
import { mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openCheckpoint, writeCheckpoint } from '@cudnn-rnn/checkpoint'
import { crc32c } from '@node-rs/crc32'
import { median } from '../../../scripts/bench/statistics.mjs'

const MIB = 2 ** 20
const TENSOR_BYTES = 32 * MIB
const CHUNK_BYTES = 8 * MIB
const ROUNDS = 5

/** Each task runs in a separate process, so that its peak memory is measured alone. */
const TASKS = {
  /** Baseline of the speed: read, checksum, write, flush. */
  async copy({ prefix, target }) {
    const source = await open(`${prefix}.data-00000-of-00001`)
    const file = await open(target, 'w')
    const chunk = new Uint8Array(CHUNK_BYTES)
    let crc = 0
    for (;;) {
      const { bytesRead } = await source.read(chunk, 0, chunk.length)
      if (bytesRead === 0) break
      crc = crc32c(chunk.subarray(0, bytesRead), crc)
      await file.write(chunk, 0, bytesRead)
    }
    await file.sync()
    await file.close()
    await source.close()
    return crc
  },

  async write({ prefix, tensors }) {
    const data = new Float32Array(TENSOR_BYTES / 4)
    await writeCheckpoint(
      prefix,
      (function* () {
        for (let index = 0; index < tensors; index++) {
          data.fill(index + 0.5)
          yield [`layer_${String(index).padStart(4, '0')}/kernel`, { data, shape: [data.length / 1024, 1024] }]
        }
      })(),
    )
  },

  async read({ prefix }) {
    const reader = await openCheckpoint(prefix)
    let sum = 0
    for (const name of reader.names()) sum += (await reader.read(name)).data[7]
    await reader.close()
    return sum
  },
}

if (process.send) {
  process.once('message', async ({ task, ...options }) => {
    const began = performance.now()
    await TASKS[task](options)
    const seconds = (performance.now() - began) / 1000
    process.send({ seconds, peakMiB: process.resourceUsage().maxRSS / 1024 })
    process.disconnect()
  })
} else {
  const [gib = '2', parent = tmpdir()] = process.argv.slice(2)
  const bytes = Number(gib) * 1024 * MIB
  const directory = await mkdtemp(join(parent, 'checkpoint-bench-'))
  const prefix = join(directory, 'model')
  const run = (task) =>
    new Promise((resolve, reject) => {
      const child = fork(fileURLToPath(import.meta.url))
      child.once('message', resolve)
      child.once('error', reject)
      child.send({ task, prefix, target: join(directory, 'copy'), tensors: bytes / TENSOR_BYTES })
    })
  const results = { write: [], read: [], copy: [] }
  try {
    for (let round = 0; round < ROUNDS; round++) {
      // Interleaved, so that a busy machine is busy for all of them; every file is new, as removing one takes time too.
      for (const task of Object.keys(results)) results[task].push(await run(task))
      for (const name of await readdir(directory)) await rm(join(directory, name))
    }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
  const speeds = (task) => results[task].map(({ seconds }) => bytes / 1e9 / seconds).sort((a, b) => a - b)
  console.log(`${gib} GiB in tensors of ${TENSOR_BYTES / MIB} MiB, median of ${ROUNDS} interleaved runs`)
  console.log('task   GB/s (slowest, fastest)   ratio to copy   peak memory MiB')
  for (const task of Object.keys(results)) {
    const peak = Math.max(...results[task].map(({ peakMiB }) => peakMiB)).toFixed(0)
    const [slowest, fastest] = [speeds(task).at(0), speeds(task).at(-1)].map((speed) => speed.toFixed(2))
    const ratio = (median(speeds(task)) / median(speeds('copy'))).toFixed(2)
    const figures = `${median(speeds(task)).toFixed(2)} (${slowest}, ${fastest})`
    console.log(`${task.padEnd(6)} ${figures.padEnd(25)} ${ratio.padStart(13)} ${peak.padStart(17)}`)
  }
}
