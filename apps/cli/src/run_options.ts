import { type Command, Option } from 'commander'
import { numberUpTo } from './number_options.js'

/** Options of every command that trains, which its run does not record. */
export interface RunOptions {
  /** Go on with the run in the directory; 'auto' begins one if there is none. */
  readonly resume?: boolean | 'auto' | undefined
  /** Replace a run that the directory holds. */
  readonly overwrite?: boolean | undefined
  readonly maxSeconds?: number | undefined
  readonly backend: string
  /** The form in which gradients travel between ranks; see `fit`. No effect on one process. */
  readonly wire?: 'bfloat16' | undefined
  readonly json?: boolean | undefined
}

/**
 * Adds them.
 *
 * @param changeable options that may change when a run is resumed
 * @param json what `--json` prints
 */
export function addRunOptions(command: Command, changeable: string, json: string): Command {
  return (
    command
      // Timers of JavaScript measure no more than 24 days.
      .option('--max-seconds <s>', 'stop after this time; --resume continues', numberUpTo(2_000_000))
      .addOption(
        new Option(
          '--resume [auto]',
          `continue the run in --out from its last checkpoint; you may change ${changeable}; auto starts a new run if there is none`,
        ).choices(['auto']),
      )
      .option('--overwrite', 'replace a run that --out holds')
      .option('--backend <name>', 'auto, cudnn, cpu, wasm or reference', 'auto')
      .addOption(
        new Option('--wire <type>', 'type in which ranks send each other gradients: half the bytes').choices([
          'bfloat16',
        ]),
      )
      .option('--json', `print ${json}`)
  )
}
