// A thread of build.mjs: compiles the units that it is sent, { unit, flags, object }, to the file `object` each.
import { renameSync, writeFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { compileUnit } from './compiler.mjs'

parentPort.on('message', async ({ unit, flags, object }) => {
  writeFileSync(`${object}.part`, await compileUnit(unit, flags, workerData))
  // Renamed when it is whole: an interrupted build leaves no part of an object.
  renameSync(`${object}.part`, object)
  parentPort.postMessage(unit)
})
