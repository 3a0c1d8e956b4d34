import { elementCount, visibleJson, visibleText } from '@cudnn-rnn/canonical/rules'
import { type ImportedWeights, type ImportOptions, writeCheckpoint } from '@cudnn-rnn/rnn'
import { CELL_MODES, paramRegions } from '@cudnn-rnn/rnn/canonical'
import { CONVENTIONS, type NetworkToExport, WEIGHT_FORMATS } from '@cudnn-rnn/rnn/interop'
import { tableText } from '@cudnn-rnn/rnn/report'
import { type Command, Option } from 'commander'
import { colors } from '../colors.js'
import {
  describeNetwork,
  importAs,
  type ReadAsOptions,
  type SelectOptions,
  selectImported,
} from '../imported_networks.js'

interface ImportCommandOptions extends ReadAsOptions, SelectOptions {
  readonly format?: ImportOptions['format']
  readonly to?: string
  readonly json?: boolean
}

export function addImportCommand(program: Command): void {
  const command = program
    .command('import')
    .description('read the recurrent networks of a PyTorch, Keras, ONNX, TensorFlow, Flax or NumPy file')
    .argument('<file>', 'the file; for a TensorFlow checkpoint, its prefix or directory')
    .option('--to <prefix>', 'write a checkpoint that RNNParamsSaveable restores, instead of a list')
    .option('--network <names>', 'only these networks: their names, separated by commas')
    .option('--stack <names>', 'join networks that feed each other into one: their names, separated by commas')
    .addOption(
      new Option('--format <format>', 'format of the file, if its first bytes do not determine it').choices(
        WEIGHT_FORMATS,
      ),
    )
    .option('--json', 'print one JSON object')
  addReadingOptions(command).action(async (file: string, options: ImportCommandOptions) => {
    const imported = await importAs(file, options, options.format)
    // A listing may have only cells; writing needs networks.
    const isList = options.to === undefined && options.stack === undefined
    const networks = isList ? imported.networks : selectImported(imported, options)
    if (options.to !== undefined) await saveNetworks(options.to, networks)
    const found = { ...imported, networks }
    process.stdout.write(options.json ? `${visibleJson(summaryOf(found, options.to))}\n` : describe(found, options.to))
  })
}

/** How tensors are to be read if a file leaves it open; `export` has these too. */
export function addReadingOptions(command: Command): Command {
  return command
    .addOption(new Option('--cell <mode>', 'cell, if shapes are ambiguous').choices(Object.keys(CELL_MODES)))
    .addOption(
      new Option('--direction <direction>', 'directions, if shapes are ambiguous').choices([
        'unidirectional',
        'bidirectional',
      ]),
    )
    .addOption(new Option('--as <convention>', 'convention of names and gate order').choices(CONVENTIONS))
    .option('--forget-bias <x>', 'bias that TensorFlow’s cells add to the forget gate at run time (default 1)')
}

/** `importWeights` refuses a file that has one of these and no network. */
const NOTHING_ALIKE = 'no operator, name or pair of matrices that looks like one'

/** Calls that open all layers of a file, by formats that describe them. */
const WHOLE_MODELS: Partial<Record<ImportedWeights['format'], string>> = {
  'keras-archive': 'openModel(file)',
  'keras-json': 'openModel(file)',
  onnx: 'openModel(file, { ort })',
}

function describe(
  { format, networks, cells, optimizer, unusedTensors }: ImportedWeights,
  prefix: string | undefined,
): string {
  const count = networks.length + cells.length
  const found =
    count === 0 ? `no recurrent network, and ${NOTHING_ALIKE}` : `${count} recurrent network${count === 1 ? '' : 's'}`
  const lines = [`${colors.bold(format)}: ${found}`]
  if (count > 0) lines.push('')
  const common = commonNotes([...networks, ...cells])
  const ownNotes = (notes: readonly string[]) => {
    return notes.filter((note) => !common.includes(note)).map((note) => `  ${visibleText(note)}`)
  }
  for (const network of networks) {
    lines.push(`${colors.bold(visibleText(network.name) || '(no name)')}: ${describeNetwork(network)}`)
    lines.push(...ownNotes(network.notes))
  }
  for (const { name, cell, options: cellOptions, numUnits, inputSize, notes } of cells) {
    lines.push(
      `${colors.bold(visibleText(name))}: ${numUnits} units, input ${inputSize}, which only ${cell} computes${describeOptions(cellOptions)}`,
    )
    lines.push(...ownNotes(notes))
  }
  if (common.length > 0) lines.push('', ...common.map((note) => `Each: ${visibleText(note)}`))
  if (optimizer.length > 0) lines.push('', describeOptimizer(optimizer))
  if (unusedTensors.length > 0) {
    const rows = unusedTensors.map(({ name, dtype, shape }) => [name, dtype, `[${shape.join(',')}]`])
    lines.push('', 'Not part of a recurrent network:', tableText({ header: ['tensor', 'dtype', 'shape'], rows }))
  }
  const whole = WHOLE_MODELS[format]
  if (whole !== undefined) lines.push('', `The whole model, in a program: ${whole} of @cudnn-rnn/rnn`)
  if (prefix !== undefined) lines.push('', visibleText(prefix))
  return `${lines.join('\n').trim()}\n`
}

/** Notes that all of several networks have: they are printed once. */
function commonNotes(found: readonly { readonly notes: readonly string[] }[]): readonly string[] {
  const [first, ...others] = found
  if (first === undefined || others.length === 0) return []
  return first.notes.filter((note) => others.every(({ notes }) => notes.includes(note)))
}

/** The optimizer slots, in one line. */
function describeOptimizer(tensors: ImportedWeights['optimizer']): string {
  const elements = tensors.reduce((sum, { shape }) => sum + elementCount(shape), 0)
  const count = tensors.length === 1 ? '1 tensor' : `${tensors.length} tensors`
  return `Optimizer state: ${count} of ${elements.toLocaleString('en-US')} elements, such as ${visibleText(tensors[0].name)}`
}

/** `, with activation relu, preactivationClip 0.5`: options that differ from the cell's defaults. */
function describeOptions({ activation, preactivationClip }: ImportedWeights['cells'][number]['options']): string {
  const given = [
    ...(activation === 'relu' ? ['activation relu'] : []),
    ...(preactivationClip === undefined ? [] : [`preactivationClip ${preactivationClip}`]),
  ]
  return given.length === 0 ? '' : `, with ${given.join(', ')}`
}

function summaryOf({ format, networks, cells, optimizer, unusedTensors }: ImportedWeights, prefix: string | undefined) {
  return {
    format,
    prefix,
    networks: networks.map(({ canonical: _, inputs: __, ...network }) => network),
    cells: cells.map(({ variables: _, inputs: __, ...cell }) => cell),
    optimizer,
    unusedTensors,
  }
}

/**
 * Writes networks under the keys of `RNNParamsSaveable`, `<name>/layer_<l>/<forward|backward>/weight_<k>` and so on, so
 * that a saveable of that name restores them. A network without a name is called `rnn`.
 */
async function saveNetworks(prefix: string, networks: readonly NetworkToExport[]): Promise<void> {
  await writeCheckpoint(prefix, networks.flatMap(entriesOf))
}

function entriesOf({ name, descriptor, canonical }: NetworkToExport) {
  const regions = paramRegions(descriptor)
  return (['weights', 'biases'] as const).flatMap((kind) =>
    canonical[kind].map((tensor, index) => {
      const { layer, direction, linLayerId, shape } = regions[kind][index]
      const side = direction === 0 ? 'forward' : 'backward'
      const own = kind === 'weights' ? 'weight' : 'bias'
      return [`${name || 'rnn'}/layer_${layer}/${side}/${own}_${linLayerId}`, { data: tensor.data, shape }] as const
    }),
  )
}
