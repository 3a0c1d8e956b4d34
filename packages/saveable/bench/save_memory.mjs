// Peak memory of saving tensors that are generated, so that the model itself takes none.
// Run after a build: /usr/bin/time -v node packages/saveable/bench/save_memory.mjs [MiB] [MiB per tensor] [directory]
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Saver, TensorSaveable } from '@cudnn-rnn/saveable'

const [total = '2048', each = '16', parent = tmpdir()] = process.argv.slice(2)
const elements = (Number(each) * 2 ** 20) / 4
const directory = await mkdtemp(join(parent, 'save-memory-'))
const before = process.resourceUsage().maxRSS
try {
  const saveables = Array.from(
    { length: Number(total) / Number(each) },
    (_, n) =>
      new TensorSaveable(
        `layer_${n}/kernel`,
        () => ({ data: new Float32Array(elements).fill(n), shape: [elements] }),
        () => undefined,
      ),
  )
  const began = performance.now()
  await new Saver(saveables).save(join(directory, 'model'))
  const seconds = (performance.now() - began) / 1000
  const mib = (kib) => Math.round(kib / 1024)
  const peak = process.resourceUsage().maxRSS
  console.log(`${total} MiB in tensors of ${each} MiB: ${seconds.toFixed(1)} s`)
  console.log(`peak memory ${mib(peak)} MiB, ${mib(peak - before)} MiB of it for the save`)
} finally {
  await rm(directory, { recursive: true, force: true })
}
