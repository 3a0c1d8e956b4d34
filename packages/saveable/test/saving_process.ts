// A program that saves as fast as it can until it is killed, or until saving fails: node saving_process.mjs PREFIX [kibibytes]
import { dirname } from 'node:path'
import { latestCheckpoint } from '@cudnn-rnn/checkpoint'
import { Saver } from '../src/index.js'
import { savedTensors, stepOf } from './saved_tensors.js'

const [prefix = '', kibibytes = '64'] = process.argv.slice(2)
const latest = await latestCheckpoint(dirname(prefix)).catch(() => null)

try {
  for (let step = latest === null ? 1 : stepOf(latest) + 1; ; step++) {
    const saver = new Saver(savedTensors(Number(kibibytes), step).saveables, { maxToKeep: 3 })
    await saver.save(prefix, { globalStep: step })
    process.stdout.write(`saved ${step}\n`)
  }
} catch (error) {
  process.stdout.write(`failed ${(error as { code: string }).code}\n`)
}
