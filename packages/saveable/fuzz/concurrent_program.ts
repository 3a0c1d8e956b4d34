// Saves some rounds, in a separate process or worker thread: DIRECTORY NAME ROUNDS MAX_TO_KEEP (own | same)
// Prints nothing if every save succeeds; rejects otherwise.
import { join } from 'node:path'
import { workerData } from 'node:worker_threads'
import { Saver } from '../src/index.js'
import { savedTensors } from './saved_tensors.js'

const fromThread = workerData as readonly string[] | null
const [directory = '', name = '', rounds, maxToKeep, prefixes] = fromThread ?? process.argv.slice(2)
for (let round = 1; round <= Number(rounds); round++) {
  const saver = new Saver(savedTensors(1, round).saveables, { maxToKeep: Number(maxToKeep) })
  if (prefixes === 'same') await saver.save(join(directory, 'model'))
  else await saver.save(join(directory, name), { globalStep: round })
}
