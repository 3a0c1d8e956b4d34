import { writeFileAtomic } from '@cudnn-rnn/checkpoint/files'
import { type ExportFormat, exportWeights, hasErrorCode } from '@cudnn-rnn/rnn'
import { EXPORT_FORMATS, type NetworkToExport } from '@cudnn-rnn/rnn/interop'
import { visibleText } from '@cudnn-rnn/canonical/rules'
import { type Command, Option } from 'commander'
import { codedRangeError } from '../coded_error.js'
import { colors } from '../colors.js'
import {
  importAs,
  type ReadAsOptions,
  type SelectOptions,
  selectImported,
  selectNetworks,
} from '../imported_networks.js'
import { exportOfModel, exportOfRun, missingOfRun, networkOfAnyRun } from '../run_networks.js'
import { addReadingOptions } from './import.js'

interface ExportCommandOptions extends ReadAsOptions, SelectOptions {
  readonly format: ExportFormat
  readonly out?: string
}

const EXTENSIONS: Readonly<Record<ExportFormat, string>> = {
  safetensors: 'safetensors',
  npz: 'npz',
  onnx: 'onnx',
  flax: 'msgpack',
  keras: 'weights.h5',
}

export function addExportCommand(program: Command): void {
  const command = program
    .command('export')
    .description(
      'write a trained model or the networks of a weight file for another framework (whole models: onnx, keras)',
    )
    .argument('<model>', 'directory of a run (train, classify, forecast), a checkpoint, or any file that import reads')
    .addOption(
      new Option('--format <format>', 'output format; safetensors and npz have the names of PyTorch')
        .choices(EXPORT_FORMATS)
        .makeOptionMandatory(),
    )
    .option('--out <file>', 'file to write (default: beside the model)')
    .option('--network <names>', 'only these networks, in ONNX with their states: their names, separated by commas')
    .option('--stack <names>', 'join networks that feed each other into one: their names, separated by commas')
  addReadingOptions(command).action(async (model: string, options: ExportCommandOptions) => {
    const {
      bytes,
      what,
      unused,
      extension = EXTENSIONS[options.format],
    } = (await wholeModel(model, options)) ?? (await networksOf(model, options))
    const target = options.out ?? `${model.replace(/[\\/]$/, '')}.${extension}`
    // An existing file is only replaced when it was named.
    await writeFileAtomic(target, bytes, { replace: options.out !== undefined }).catch((cause: unknown) => {
      if (!hasErrorCode(cause, 'ERR_FILE_EXISTS')) throw cause
      throw codedRangeError('ERR_FILE_EXISTS', `${cause.message}. Name it by --out to replace it`, { cause })
    })
    process.stdout.write(`${visibleText(target)}: ${visibleText(what)}\n`)
    const missing = unused ?? (await missingOfRun(model))
    if (missing !== undefined) process.stdout.write(`${colors.yellow('Not in the file')}: ${missing}\n`)
  })
}

interface Exported {
  readonly bytes: Uint8Array
  readonly what: string
  /** The tensors around the networks, which only whole models have. */
  readonly unused?: string | undefined
  readonly extension?: string
}

/** The model of a run or of a file that describes its layers, in the formats that have graphs; undefined if the file is to have networks. */
async function wholeModel(
  path: string,
  { format, network, stack, ...readAs }: ExportCommandOptions,
): Promise<Exported | undefined> {
  if ((format !== 'onnx' && format !== 'keras') || network !== undefined || stack !== undefined) return undefined
  const isReadAs = [readAs.as, readAs.cell, readAs.direction, readAs.forgetBias].some((option) => option !== undefined)
  const bytes = (await exportOfRun(path, format)) ?? (isReadAs ? undefined : await exportOfModel(path, format))
  return bytes && { bytes, what: 'the whole model', extension: format }
}

async function networksOf(path: string, options: ExportCommandOptions): Promise<Exported> {
  const trained = await networkOfAnyRun(path)
  const imported = trained === undefined ? await importAs(path, options) : undefined
  const networks =
    imported === undefined
      ? selectNetworks({ networks: trained === undefined ? [] : [trained], cells: [] }, options)
      : selectImported(imported, options)
  checkCount(networks, options.format)
  const bytes = await exportWeights(networks, { format: options.format })
  const unused = imported?.unusedTensors.map(({ name }) => visibleText(name)).join(', ')
  return { bytes, what: networks.map(({ name }) => name).join(', '), unused: unused === '' ? undefined : unused }
}

/** Names the option that chooses one network. */
function checkCount(networks: readonly NetworkToExport[], format: ExportFormat): void {
  if (format !== 'onnx' || networks.length === 1) return
  const names = networks.map(({ name }) => name).join(', ')
  throw codedRangeError(
    'ERR_SEVERAL_NETWORKS',
    `Cannot export to ONNX as a model computes one network: there are ${names}. Name one by --network, or those that feed each other by --stack`,
  )
}
