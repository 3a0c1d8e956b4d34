import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { visibleJson, visibleText } from '@cudnn-rnn/canonical/rules'
import { openCheckpoint } from '@cudnn-rnn/rnn'
import { CheckpointError } from '@cudnn-rnn/rnn/checkpoint'
import { type DetectedNetwork, detectNetworks } from '@cudnn-rnn/rnn/saveable'
import { tableText } from '@cudnn-rnn/rnn/report'
import type { Command } from 'commander'
import { checkpointPrefix } from '../checkpoint_path.js'
import { colors } from '../colors.js'
import { EXIT_CODES } from '../exit_codes.js'

export function addInspectCommand(program: Command): void {
  program
    .command('inspect')
    .description('list the tensors of a TensorFlow checkpoint and the networks they belong to')
    .argument('<checkpoint>', 'prefix, or a directory for the latest in it')
    .option('--json', 'print one JSON object')
    .action(async (path: string, { json }: { json?: boolean }) => {
      const report = await reportCheckpoint(await checkpointPrefix(path))
      process.stdout.write(json ? `${visibleJson(report)}\n` : describe(report))
      if (report.problem !== undefined) process.exitCode = EXIT_CODES.failed
    })
}

function describe({ prefix, format, tensors, networks, files, problem }: CheckpointReport): string {
  const lines: string[] = []
  if (format !== undefined) {
    const bytes = tensors.reduce((sum, tensor) => sum + tensor.bytes, 0)
    lines.push(
      `${colors.bold(visibleText(prefix))}: format ${format.toUpperCase()}, ${tensors.length} tensors, ${count(bytes)} bytes`,
      '',
    )
    const rows = tensors.map(({ name, dtype, shape, bytes: size, network = '' }) => {
      return [name, dtype, `[${shape.join(',')}]`, count(size), network]
    })
    lines.push(tableText({ header: ['tensor', 'dtype', 'shape', 'bytes', 'network'], rows }), '')
  }
  for (const { form, name, structures } of networks) {
    const candidates = structures.map(({ cellMode, numLayers, direction, numUnits, inputSize, numProj }) => {
      const projection = numProj === undefined ? '' : `, projection ${numProj}`
      return `${cellMode}, ${numLayers} × ${numUnits} units ${direction}${projection}, input ${inputSize}`
    })
    const what = candidates.length === 0 ? 'of no structure that fits its tensors' : candidates.join(', or ')
    lines.push(`${colors.bold(name === '' ? '(no scope)' : visibleText(name))} (${form}): ${what}`)
  }
  if (problem !== undefined) {
    lines.push(
      '',
      `${colors.red('damaged')} [${problem.code}]: ${visibleText(problem.message)}`,
      '',
      'Files of this checkpoint:',
    )
    lines.push(...files.map(({ name, bytes }) => `  ${visibleText(name)}  ${count(bytes)} bytes`))
  }
  return `${lines.join('\n').trim()}\n`
}

function count(value: number): string {
  return value.toLocaleString('en-US')
}

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description('read every tensor of a TensorFlow checkpoint and check all checksums')
    .argument('<checkpoint>', 'prefix, or a directory for the latest in it')
    .option('--json', 'print one JSON object')
    .action(async (path: string, { json }: { json?: boolean }) => {
      const prefix = await checkpointPrefix(path)
      const { tensors, bytes, damaged } = await verifyCheckpoint(prefix)
      if (damaged.length > 0) process.exitCode = EXIT_CODES.failed
      if (json) {
        process.stdout.write(`${visibleJson({ prefix, tensors, bytes, damaged })}\n`)
        return
      }
      for (const { code, message } of damaged)
        process.stdout.write(`${colors.red('damaged')} [${code}]: ${visibleText(message)}\n`)
      const verdict =
        damaged.length === 0 ? colors.green('all checksums are right') : colors.red(`${damaged.length} of them damaged`)
      process.stdout.write(
        `${visibleText(prefix)}: ${tensors} tensors, ${bytes.toLocaleString('en-US')} bytes read: ${verdict}\n`,
      )
    })
}

/** Result of `cudnn-rnn inspect`; `problem` describes a defect of the files. */
interface CheckpointReport {
  readonly prefix: string
  readonly format?: 'v1' | 'v2'
  readonly tensors: readonly TensorReport[]
  readonly networks: readonly Omit<DetectedNetwork, 'keys'>[]
  readonly files: readonly { readonly name: string; readonly bytes: number }[]
  readonly problem?: { readonly code: string; readonly message: string }
}

interface TensorReport {
  readonly name: string
  readonly dtype: string
  readonly shape: readonly number[]
  readonly bytes: number
  /** Name of the network whose parameters it belongs to. */
  readonly network?: string
}

/** Lists a checkpoint from its index alone; a damaged one as far as it is readable. Throws when there is none. */
async function reportCheckpoint(prefix: string): Promise<CheckpointReport> {
  const files = await filesOf(prefix)
  try {
    await using reader = await openCheckpoint(prefix)
    const names = reader.names()
    const networks = detectNetworks(names.map((key) => ({ key, shape: reader.shape(key) })))
    const owners = new Map(networks.flatMap((network) => network.keys.map((key) => [key, network] as const)))
    const tensors = names.map((name): TensorReport => {
      const network = owners.get(name)
      return {
        name,
        dtype: reader.dtype(name),
        shape: reader.shape(name),
        bytes: reader.byteLength(name),
        ...(network !== undefined && { network: network.name }),
      }
    })
    return {
      prefix,
      format: reader.format,
      tensors,
      networks: networks.map(({ form, name, structures }) => ({ form, name, structures })),
      files,
      ...problemWith(tensors, reader.format, files),
    }
  } catch (error) {
    if (!(error instanceof CheckpointError) || files.length === 0) throw error
    return { prefix, tensors: [], networks: [], files, problem: { code: error.code, message: error.message } }
  }
}

/** Reads every tensor and checks its checksum. Throws CheckpointError when the checkpoint cannot be opened. */
async function verifyCheckpoint(prefix: string) {
  await using reader = await openCheckpoint(prefix)
  const damaged: { readonly name: string; readonly code: string; readonly message: string }[] = []
  let bytes = 0
  for (const name of reader.names()) {
    try {
      await reader.read(name)
      bytes += reader.byteLength(name)
    } catch (error) {
      if (!(error instanceof CheckpointError)) throw error
      damaged.push({ name, code: error.code, message: error.message })
    }
  }
  return { tensors: reader.names().length, bytes, damaged }
}

/** The files of a prefix, of either format. */
async function filesOf(prefix: string): Promise<{ name: string; bytes: number }[]> {
  const base = basename(prefix)
  const names = await readdir(dirname(prefix)).catch(() => [] as string[])
  const own = names.filter(
    (name) =>
      name === base || (name.startsWith(base) && /^\.(?:index|data-\d{5}-of-\d{5})$/.test(name.slice(base.length))),
  )
  const files = own.sort().map(async (name) => {
    // A link to nothing has no size; openCheckpoint refuses it with a code.
    const stats = await stat(join(dirname(prefix), name)).catch(() => undefined)
    return stats === undefined ? [] : [{ name, bytes: stats.size }]
  })
  return (await Promise.all(files)).flat()
}

/** Bytes that the index names and the data files lack. */
function problemWith(
  tensors: readonly TensorReport[],
  format: 'v1' | 'v2',
  files: CheckpointReport['files'],
): Pick<CheckpointReport, 'problem'> {
  if (format === 'v1') return {}
  const promised = tensors.reduce((sum, { bytes }) => sum + bytes, 0)
  const held = files.filter(({ name }) => name.includes('.data-')).reduce((sum, { bytes }) => sum + bytes, 0)
  if (held >= promised) return {}
  const message = `The index names ${promised} bytes of tensors and the data files hold ${held}: one is missing or cut short`
  return { problem: { code: 'ERR_CHECKPOINT_CORRUPT', message } }
}
