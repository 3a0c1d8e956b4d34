import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { outcome, runProcess, start } from './built_program.js'

/** The results of a run without its times, the only part that may differ. */
interface Remains {
  readonly metrics: readonly unknown[]
  /** The last line that it prints: the result. */
  readonly result: string
}

/** Kills of one run. The nightly workflow sets 5. */
const KILLS = Number(process.env['CUDNN_RNN_KILLS'] ?? 1)

/**
 * Runs a task once from end to end, and once more killed at random moments and started again by the same command line.
 * Every run is a separate process: a run in this process would take the CUDA emulator as its executor if another test
 * has loaded it.
 */
export async function killedAndWhole(
  [command = '', ...args]: readonly string[],
  directory: string,
): Promise<{ whole: Remains; killed: Remains }> {
  const [wholeRun, killedRun] = [join(directory, 'whole'), join(directory, 'killed')]
  const finish = async (out: string, more: readonly string[]): Promise<Remains> => {
    const { exitCode, stdout, stderr } = await runProcess(command, ...more, '--json', '--out', out)
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    const lines = (await readFile(join(out, 'metrics.jsonl'), 'utf8')).trim().split('\n')
    const metrics = lines.map((line) => ({ ...(JSON.parse(line) as object), seconds: 0 }))
    return { metrics, result: stdout.trim().split('\n').at(-1)! }
  }
  const whole = await finish(wholeRun, args)
  const again = [...args, '--resume', 'auto']
  for (let kill = 0; kill < KILLS; kill++) {
    const child = start([command, ...again, '--json', '--out', killedRun])
    let linesLeft = 1 + Math.floor((Math.random() * whole.metrics.length) / (KILLS + 1))
    child.stdout.on('data', (piece: Buffer) => {
      linesLeft -= piece.toString().split('\n').length - 1
      if (linesLeft <= 0) setTimeout(() => child.kill('SIGKILL'), Math.random() * 10)
    })
    await outcome(child)
  }
  return { whole, killed: await finish(killedRun, again) }
}
