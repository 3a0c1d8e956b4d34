import { type BackendName, openBackend } from '@cudnn-rnn/rnn'
import { visibleLines } from '@cudnn-rnn/canonical/rules'
import type { Command } from 'commander'
import { promptIn, sample } from '../character/sampler.js'
import { restoreModel } from '../character/training_run.js'
import { integerAtLeast, numberAtLeast } from '../number_options.js'

interface SampleOptions {
  readonly length: number
  readonly temperature: number
  readonly seed: number
  readonly prompt?: string
  readonly backend: string
  readonly greedy?: boolean
}

export function addSampleCommand(program: Command): void {
  program
    .command('sample')
    .description('let a trained model write')
    .argument('<run>', 'directory of a run')
    .option('--length <n>', 'characters to write', integerAtLeast(1), 500)
    .option(
      '--temperature <x>',
      'randomness: below 1 the text is more likely, above 1 more surprising',
      numberAtLeast(0),
      0.8,
    )
    .option('--greedy', 'always take the likeliest character')
    .option('--seed <n>', 'seed of random numbers: equal seeds give equal texts', integerAtLeast(0), 1)
    .option('--prompt <text>', 'text that the model reads first (default: a line end, if the model knows it)')
    .option('--backend <name>', 'auto, cudnn, cpu, wasm or reference', 'auto')
    .action(async (directory: string, { greedy, backend: backendName, temperature, ...options }: SampleOptions) => {
      using backend = await openBackend(backendName as BackendName)
      const { model, vocabulary } = await restoreModel(directory, backend)
      const { prompt = '' } = options
      // Refuses unknown characters before anything is printed.
      vocabulary.encode(prompt)
      if (prompt.trim() !== '') process.stdout.write(visibleLines(prompt))
      // Without a prompt, lines that are empty before the first word are left out.
      let started = prompt.trim() !== ''
      for await (const character of sample(model, vocabulary, {
        ...options,
        prompt: prompt || promptIn(vocabulary, '\n'),
        temperature: greedy ? 0 : temperature,
      })) {
        started ||= character.trim() !== ''
        if (started) process.stdout.write(visibleLines(character))
      }
      process.stdout.write('\n')
    })
}
