// The validation on a real GPU: conformance, NVIDIA's sums, the checklist, and times beside PyTorch's. Run by
// `npm run test:gpu`, and by run.sh of the folder that `npm run pack:gpu` makes.
//
//     node gpu_validation.mjs OUTDIR [--quick] [--python PYTHON | none] [--limit SECONDS] [--only NAME,NAME] [--jobs N] [--resume] [--report FOLDER]
//
// Every section is a separate process with a time limit: one that crashes or hangs loses nothing of the others and is
// started again behind the item that ended it, and every answer is on the disk when it is known.
import { spawnSync } from 'node:child_process'
import { isMainThread, parentPort, workerData } from 'node:worker_threads'
import { leaveInFlight, trainedSum } from './checks/soak.js'
import { holdContext } from './context_holder.js'
import { writeReport } from './report.js'
import { runAll } from './run_all.js'
import { parseOptions } from './run_options.js'
import { runSection } from './run_section.js'

const { train } = (workerData ?? {}) as { readonly train?: object }
if (!isMainThread && train !== undefined) {
  parentPort?.postMessage(await trainedSum(train))
} else if (process.argv.includes('--leave')) {
  await leaveInFlight({})
} else {
  const options = parseOptions(process.argv.slice(2), (command, args) => spawnSync(command, args, { encoding: 'utf8' }))
  if (options.isHolder) await holdContext()
  else if (options.section !== undefined) await runSection(options)
  else if (options.report !== undefined) console.log(`Written: ${writeReport(options.folder, options.report)}`)
  else process.exitCode = await runAll(options)
}
