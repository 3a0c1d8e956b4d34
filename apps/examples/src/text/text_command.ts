import { type BackendName, openBackend } from '@cudnn-rnn/rnn'
import { Philox } from '@cudnn-rnn/rnn/executors'
import { sampleToken } from '@cudnn-rnn/rnn/train'
import { visibleLines } from '@cudnn-rnn/canonical/rules'
import type { Command } from 'commander'
import { integerAtLeast, numberAtLeast } from '../number_options.js'
import { BOUNDARY, Textgenrnn } from './textgenrnn.js'

interface TextOptions {
  readonly weights: string
  readonly vocabulary: string
  readonly prompt: string
  readonly lines: number
  readonly temperature: number
  readonly seed: number
  readonly backend: string
}

const LONGEST = 300

export function addTextCommand(program: Command): void {
  program
    .command('text')
    .description('let a network trained with CuDNNLSTM on headlines write (textgenrnn)')
    .requiredOption('--weights <file>', 'textgenrnn_weights.hdf5 of github.com/minimaxir/textgenrnn')
    .requiredOption('--vocabulary <file>', 'textgenrnn_vocab.json of the same')
    .option('--prompt <text>', 'how every line begins', '')
    .option('--lines <n>', 'lines to write', integerAtLeast(1), 5)
    .option('--temperature <x>', 'below 1 more careful; 0 always takes the likeliest', numberAtLeast(0), 0.5)
    .option('--seed <n>', 'makes the text repeatable', integerAtLeast(0), 1)
    .option('--backend <name>', 'auto, cudnn, cpu, wasm or reference', 'auto')
    .action(async (options: TextOptions) => {
      using backend = await openBackend(options.backend as BackendName)
      const model = await Textgenrnn.open(backend, options.weights, options.vocabulary)
      const random = new Philox(options.seed, 0)
      const start = performance.now()
      let written = 0
      for (let line = 0; line < options.lines; line++) {
        const text = await writeLine(model, options.prompt, (probabilities) => {
          return draw(probabilities, options.temperature, random)
        })
        written += text.length
        process.stdout.write(visibleLines(`${text}\n`))
      }
      model.dispose()
      const seconds = (performance.now() - start) / 1000
      process.stderr.write(`${backend.name}: ${(written / seconds).toFixed(0)} characters per second\n`)
    })
}

/** One line: from the boundary to the next one. */
export async function writeLine(
  model: Textgenrnn,
  prompt: string,
  choose: (probabilities: Float32Array) => number,
): Promise<string> {
  const ids = model.encode([BOUNDARY, ...prompt])
  let text = prompt
  while (text.length < LONGEST) {
    const [probabilities] = await model.probabilities([ids])
    const id = choose(probabilities)
    if (model.decode(id) === BOUNDARY) break
    ids.push(id)
    text += model.decode(id)
  }
  return text
}

/** The id at which the sharpened probabilities, added up, pass a random number. */
function draw(probabilities: Float32Array, temperature: number, random: Philox): number {
  const logits = probabilities.map((value) => Math.log(value + 1e-30))
  return sampleToken(logits, random, { temperature })
}
