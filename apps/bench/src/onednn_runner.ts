import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { GATE_ORDERS, gatesOf, type Tensor } from '@cudnn-rnn/canonical'
import { buildNativeProgram } from './native_program.js'
import { canonicalGroup, ungrouped } from './parameter_layouts.js'
import type { LoadedTask, Runner, Task } from './runner.js'
import { withTemporaryFolder } from './temporary_folder.js'
import { readTensorFile, type TensorRecord, writeTensorFile } from './tensor_file.js'

const PROGRAM = {
  name: 'onednn_runner',
  output: 'onednn_runner',
  flags: ['-ldnnl'],
  packages: ['libdnnl-dev'],
} as const

/** The program as a process: one command a line, one answer a line. */
class OnednnProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>
  readonly #answers: AsyncIterator<string>

  constructor(threads: number) {
    const env = { ...process.env, OMP_NUM_THREADS: String(threads) }
    this.#child = spawn(buildNativeProgram(PROGRAM), { stdio: ['pipe', 'pipe', 'inherit'], env })
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

/** Runs the RNN primitives of oneDNN by a C++ program that it builds and that measures its own times. */
export async function openOnednnRunner(threads: number): Promise<Runner> {
  const onednn = new OnednnProcess(threads)
  return {
    version: await onednn.answer(),
    detail: 'lstm_forward, lbr_gru_forward and vanilla_rnn_forward in C++, weights in the layout oneDNN chooses',
    load: (task) => load(onednn, task),
  }
}

async function load(onednn: OnednnProcess, task: Task): Promise<LoadedTask> {
  const { cellMode, time, batch, inputSize, numUnits } = task.workload
  await withTemporaryFile(async (operands) => {
    writeTensorFile(operands, onednnOperands(task))
    await onednn.ask(`load ${cellMode} ${time} ${batch} ${inputSize} ${numUnits} ${operands}`)
  })
  const measure = (sliceMs: number, warmUp: boolean) => onednn.times(`run ${sliceMs} ${warmUp ? 1 : 0}`)
  return {
    measure,
    run: async () => {
      await measure(0, false)
    },
    results: () =>
      withTemporaryFile(async (path) => {
        await onednn.ask(`results ${path}`)
        return readTensorFile({ path, tensors: [{ name: 'output', shape: [time, batch, numUnits] }] })
      }),
    release: () => {},
  }
}

/** Calls `use` with the path of a file, and removes it then: a process that is stopped between two requests leaves none. */
function withTemporaryFile<Result>(use: (path: string) => Promise<Result>): Promise<Result> {
  return withTemporaryFolder(join(tmpdir(), 'cudnn-rnn-onednn-'), (folder) => use(join(folder, 'tensors')))
}

/**
 * The operands of one layer as native/onednn_runner reads them: W [I,G,H], R [H,G,H], b [G,H] (of GRU [4,H], the last being
 * the recurrent bias of the new memory), x [T,B,I]. Source: oneDNN, "RNN", "Linear-before-reset GRU".
 */
export function onednnOperands({ workload, parameters, input }: Task): TensorRecord {
  const { cellMode, time, batch, inputSize, numUnits } = workload
  const { weights, biases } = canonicalGroup(ungrouped(parameters)[0])
  // oneDNN's gates by their place in the canonical order.
  const canonical = gatesOf(cellMode)
  const gates = GATE_ORDERS.onednn[cellMode].map((gate) => canonical.indexOf(gate))
  const count = gates.length
  const bias = (index: number) => biases[index].data
  const sums = gates.map((gate) =>
    cellMode === 'gru' && gate === 2 ? bias(gate) : bias(gate).map((value, unit) => value + bias(count + gate)[unit]),
  )
  if (cellMode === 'gru') sums.push(bias(count + 2))
  return {
    inputWeights: interleaved(
      gates.map((gate) => weights[gate]),
      inputSize,
      numUnits,
    ),
    recurrentWeights: interleaved(
      gates.map((gate) => weights[count + gate]),
      numUnits,
      numUnits,
    ),
    bias: { data: Float32Array.from(sums.flatMap((values) => [...values])), shape: [sums.length, numUnits] },
    input: { data: input, shape: [time, batch, inputSize] },
  }
}

/** [depth,G,H] of G matrices [H,depth]. */
function interleaved(matrices: readonly Tensor<Float32Array>[], depth: number, units: number): Tensor<Float32Array> {
  const gates = matrices.length
  const data = new Float32Array(depth * gates * units)
  for (const [gate, matrix] of matrices.entries()) {
    for (let unit = 0; unit < units; unit++) {
      for (let k = 0; k < depth; k++) data[(k * gates + gate) * units + unit] = matrix.data[unit * depth + k]
    }
  }
  return { data, shape: [depth, gates, units] }
}
