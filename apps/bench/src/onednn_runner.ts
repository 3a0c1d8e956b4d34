import { type ChildProcessByStdio, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { onednnOperands } from './onednn_operands.js'
import type { LoadedTask, Runner, Task } from './runner.js'
import { readTensorFile, writeTensorFile } from './tensor_file.js'

const SOURCE = fileURLToPath(new URL('../../../native/onednn_runner/onednn_runner.cc', import.meta.url))
const FOLDER = fileURLToPath(new URL('../peers/build/', import.meta.url))

/** Builds the program unless it is newer than its source; returns its path. Throws where oneDNN or a compiler is missing. */
function buildProgram(): string {
  const program = join(FOLDER, 'onednn_runner')
  if (existsSync(program) && statSync(program).mtimeMs > statSync(SOURCE).mtimeMs) return program
  mkdirSync(FOLDER, { recursive: true })
  const args = ['-std=c++17', '-O2', SOURCE, '-o', program, '-ldnnl']
  const { status, stderr } = spawnSync('g++', args, { encoding: 'utf8' })
  if (status === 0) return program
  const reason = /fatal error: dnnl\.hpp/.test(stderr ?? '') ? 'dnnl.hpp was not found' : 'g++ could not build it'
  throw new Error(`${reason} (Debian: g++ libdnnl-dev)`)
}

/** The program as a process: one command a line, one answer a line. */
class OnednnProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #answers: AsyncIterator<string>

  constructor(threads: number) {
    const env = { ...process.env, OMP_NUM_THREADS: String(threads) }
    this.#child = spawn(buildProgram(), { stdio: ['pipe', 'pipe', 'inherit'], env })
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async answer(): Promise<string> {
    const { value, done } = await this.#answers.next()
    if (done === true) throw new Error('Cannot run oneDNN as its process must live: it has ended')
    if (value.startsWith('error ')) throw new Error(value.slice('error '.length))
    return value
  }

  ask(command: string): Promise<string> {
    this.#child.stdin.write(`${command}\n`)
    return this.answer()
  }

  async times(command: string): Promise<number[]> {
    return (await this.ask(command)).split(' ').map(Number)
  }
}

/** Plays the RNN primitives of oneDNN, through a C++ program that it builds and that measures by itself. */
export async function openOnednnRunner(threads: number): Promise<Runner> {
  const onednn = new OnednnProcess(threads)
  return {
    version: await onednn.answer(),
    detail: 'lstm_forward, lbr_gru_forward and vanilla_rnn_forward in C++, weights in the layout oneDNN chooses',
    load: (task) => load(onednn, task),
    product: async (size) => async () => {
      await onednn.times(`product ${size} 1`)
    },
  }
}

async function load(onednn: OnednnProcess, task: Task): Promise<LoadedTask> {
  const { cellMode, time, batch, inputSize, numUnits } = task.workload
  const folder = mkdtempSync(join(tmpdir(), 'cudnn-rnn-onednn-'))
  const operands = join(folder, 'operands')
  const output = join(folder, 'output')
  writeTensorFile(operands, onednnOperands(task))
  await onednn.ask(`load ${cellMode} ${time} ${batch} ${inputSize} ${numUnits} ${operands}`)
  const measure = (sliceMs: number, warmUp: boolean) => onednn.times(`run ${sliceMs} ${warmUp ? 1 : 0}`)
  return {
    measure,
    run: async () => {
      await measure(0, false)
    },
    results: async () => {
      await onednn.ask(`results ${output}`)
      return readTensorFile({ path: output, tensors: [{ name: 'output', shape: [time, batch, numUnits] }] })
    },
    release: () => rmSync(folder, { recursive: true, force: true }),
  }
}
