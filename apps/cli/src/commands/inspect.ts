import { visibleJson, visibleText } from '@cudnn-rnn/canonical/rules'
import type { Command } from 'commander'
import { checkpointPrefix } from '../checkpoint_path.js'
import { type CheckpointReport, reportCheckpoint, verifyCheckpoint } from '../checkpoint_report.js'
import { colors } from '../colors.js'
import { EXIT_CODES } from '../exit_codes.js'
import { textTable } from '../text_table.js'

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
    lines.push(textTable(['tensor', 'dtype', 'shape', 'bytes', 'network'], rows, ['bytes']).join('\n'), '')
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
