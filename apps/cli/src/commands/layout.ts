import { writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import type { CellMode, RnnDescriptor } from '@cudnn-rnn/rnn'
import { CELL_MODES, createRnnDescriptor, flatLayout } from '@cudnn-rnn/rnn/canonical'
import { visibleJson, visibleText } from '@cudnn-rnn/canonical/rules'
import { tableText } from '@cudnn-rnn/rnn/report'
import { type Command, Option } from 'commander'
import { describeDescriptor, layoutPage } from '../layout_page.js'
import { integerAtLeast } from '../number_options.js'

interface LayoutOptions {
  readonly mode: CellMode
  readonly layers: number
  readonly units: number
  readonly input: number
  readonly proj?: number
  readonly bidirectional?: boolean
  readonly skipInput?: boolean
  readonly html?: string
  readonly json?: boolean
}

export function addLayoutCommand(program: Command): void {
  program
    .command('layout')
    .description("show the place of every canonical tensor in a model's opaque buffer")
    .addOption(new Option('--mode <mode>', 'cell').choices(Object.keys(CELL_MODES)).default('lstm'))
    .option('--layers <n>', 'layers', integerAtLeast(1), 1)
    .option('--units <n>', 'units per layer', integerAtLeast(1), 128)
    .option('--input <n>', 'size of one input vector', integerAtLeast(1), 64)
    .option('--proj <n>', 'recurrent projection (lstm)', integerAtLeast(1))
    .option('--bidirectional', 'both directions')
    .option('--skip-input', 'add the input to the gates without input matrices (input size = units)')
    .option('--html <file>', 'write a self-contained page that draws the buffer')
    .option('--json', 'print one JSON object')
    .action(async ({ html, json, ...options }: LayoutOptions) => {
      const descriptor = createRnnDescriptor({
        cellMode: options.mode,
        numLayers: options.layers,
        numUnits: options.units,
        inputSize: options.input,
        numProj: options.proj,
        direction: options.bidirectional ? 'bidirectional' : 'unidirectional',
        inputMode: options.skipInput ? 'skip_input' : 'linear_input',
      })
      if (html !== undefined) {
        await writeFileAtomic(html, layoutPage(descriptor))
        process.stdout.write(`${visibleText(html)}\n`)
        return
      }
      process.stdout.write(json ? `${visibleJson({ descriptor, ...flatLayout(descriptor) })}\n` : table(descriptor))
    })
}

function table(descriptor: RnnDescriptor): string {
  const { weights, biases, size } = flatLayout(descriptor)
  const header = ['tensor', 'layer', 'direction', 'side', 'gate', 'shape', 'offset']
  const rows = [...weights, ...biases].map((region) => [
    `${region.kind}_${region.linLayerId}`,
    String(region.layer),
    region.direction === 0 ? 'forward' : 'backward',
    region.side,
    region.gate ?? '–',
    `[${region.shape.join(',')}]`,
    String(region.offset),
  ])
  const summary = `${describeDescriptor(descriptor)}: ${size.toLocaleString('en-US')} elements`
  return `${[summary, '', tableText({ header, rows })].join('\n')}\n`
}
