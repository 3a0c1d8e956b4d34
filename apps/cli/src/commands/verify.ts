import { visibleJson, visibleText } from '@cudnn-rnn/text'
import type { Command } from 'commander'
import pc from 'picocolors'
import { checkpointPrefix } from '../checkpoint_path.js'
import { verifyCheckpoint } from '../checkpoint_report.js'
import { EXIT_CODES } from '../exit_codes.js'

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
        process.stdout.write(`${pc.red('damaged')} [${code}]: ${visibleText(message)}\n`)
      const verdict =
        damaged.length === 0 ? pc.green('all checksums are right') : pc.red(`${damaged.length} of them damaged`)
      process.stdout.write(
        `${visibleText(prefix)}: ${tensors} tensors, ${bytes.toLocaleString('en-US')} bytes read: ${verdict}\n`,
      )
    })
}
