// Saves in a separate process: node saving_program.mjs DIRECTORY SCENARIO (FAULT as JSON | forever)
// Prints `saved STEP` after every save, `failed CODE` if one rejects.
import { type Fault, injectFault } from './file_faults.js'
import { latestStep, SCENARIOS, type ScenarioName, saveStep } from './save_scenarios.js'

const [directory = '', name = '', mode = ''] = process.argv.slice(2)
const scenario = SCENARIOS[name as ScenarioName]
try {
  if (mode === 'forever') {
    for (let step = (await latestStep(directory)) + 1; ; step++) {
      await saveStep(directory, scenario, step)
      process.stdout.write(`saved ${step}\n`)
    }
  }
  injectFault(directory, JSON.parse(mode) as Fault)
  await saveStep(directory, scenario, scenario.step)
  process.stdout.write(`saved ${scenario.step}\n`)
} catch (error) {
  process.stdout.write(`failed ${(error as { code?: string }).code ?? String(error)}\n`)
}
