import type { Command } from 'commander'
import { runTraining } from '../character/run_training.js'
import { givenOptions } from '../resume_options.js'
import { addTrainingOptions, type TrainOptions, trainingRequest } from './train.js'

/** The demo's training ends after this on any machine. */
const DEMO_SECONDS = 75

export function addDemoCommand(program: Command): void {
  const command = program
    .command('demo')
    .description('train on Moby-Dick for about a minute, sample, write a report page')
    .option('--text <file>', 'UTF-8 text to learn from instead')
  addTrainingOptions(command).action(async (options: TrainOptions, command: Command) => {
    const request = { ...trainingRequest(options, givenOptions(command)), isDemo: true }
    await runTraining({ ...request, maxSeconds: options.maxSeconds ?? DEMO_SECONDS })
  })
}
