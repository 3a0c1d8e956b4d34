import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expectAllclose } from '@cudnn-rnn/conformance'
import { COMMUNICATOR_CASES } from '@cudnn-rnn/conformance/communicators'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleProgram } from '../../../scripts/bundle_program.mjs'

const emulator = openCudaEmulator(9)
const addon = fileURLToPath(
  new URL(
    `../../../native/cudnn/prebuilds/${process.platform}-${process.arch}-gnu/cudnn_rnn_cudnn.node`,
    import.meta.url,
  ),
)

let folder: string
let program: string
let training: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'distributed-nccl-'))
  program = join(folder, 'ranks_program.mjs')
  training = join(folder, 'training_program.mjs')
  const external = ['apache-arrow', 'hyparquet', 'hyparquet-compressors']
  for (const [source, file] of [
    ['ranks_program.ts', program],
    ['training_program.ts', training],
  ] as const) {
    await bundleProgram(fileURLToPath(new URL(source, import.meta.url)), file, { external })
  }
})
afterAll(() => rm(folder, { recursive: true }))

/** A port that was free a moment ago. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function ended(child: ChildProcess) {
  let [output, errors] = ['', '']
  child.stdout?.on('data', (piece: Buffer) => {
    output += piece.toString()
  })
  child.stderr?.on('data', (piece: Buffer) => {
    errors += piece.toString()
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, output, errors }
}

/** Runs `program` in processes with the variables of torchrun, each with an emulated GPU of its own. */
async function torchrun(
  ranks: number,
  what: string,
  environment: Readonly<Record<string, string>> = {},
  file = program,
) {
  const port = await freePort()
  const children = Array.from({ length: ranks }, (_, rank) =>
    spawn(process.execPath, [file, what], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...{ RANK: String(rank), LOCAL_RANK: String(rank) },
        ...{ WORLD_SIZE: String(ranks), LOCAL_WORLD_SIZE: String(ranks) },
        ...{ MASTER_ADDR: '127.0.0.1', MASTER_PORT: String(port - 1), TORCHELASTIC_RUN_ID: 'test' },
        CUDNN_RNN_CUDNN_ADDON: addon,
        ...(emulator.problem === undefined && { CUDNN_RNN_LIBRARY_DIR: emulator.folder, CUDNN_RNN_CUDA_EMULATOR: '1' }),
        CUDNN_RNN_CUDA_EMULATOR_VERBOSE: '1',
        CUDNN_RNN_CUDA_EMULATOR_SETTINGS: `devices=${ranks}`,
        ...environment,
      },
    }),
  )
  const late = setTimeout(() => {
    for (const child of children) child.kill('SIGKILL')
  }, 30_000)
  try {
    return await Promise.all(children.map(ended))
  } finally {
    clearTimeout(late)
  }
}

describe.skipIf(emulator.problem !== undefined)(`NCCL under torchrun (${emulator.problem ?? 'emulated GPUs'})`, () => {
  it.each([2, 3])('passes the conformance suite over %d processes', async (ranks) => {
    const all = await torchrun(ranks, 'conformance')
    for (const { code, errors } of all) expect([code, errors]).toEqual([0, ''])
    const [reason, ...names] = all[0]!.output.trim().split('\n')
    expect(reason).toMatch(/^nccl: NCCL 2\.27\.7 \(.*libnccl\.so\.2\), as torchrun has started \d processes$/)
    expect(names).toEqual(COMMUNICATOR_CASES.map(({ name }) => name))
  })

  it('trains as one process with the whole batches', async () => {
    const alone = await torchrun(1, JSON.stringify({ engine: 'none' }), {}, training)
    const [together] = await torchrun(2, JSON.stringify({ engine: 'auto' }), {}, training)
    expect([together!.code, together!.errors]).toEqual([0, ''])
    const [expected, actual] = [alone[0]!, together!].map(
      ({ output }) => JSON.parse(output) as Readonly<Record<'losses' | 'kernel', number[]>>,
    )
    for (const name of ['losses', 'kernel'] as const) expectAllclose(name, actual![name], expected![name], 1e-6)
  })

  it('ends with code 0 at the end of the program', async () => {
    expect(await torchrun(2, 'end of the program')).toEqual([
      { code: 0, output: '', errors: '' },
      { code: 0, output: '', errors: '' },
    ])
  })

  it('ends a rank whose peer is killed, and names that', async () => {
    const [first] = await torchrun(2, 'kill of one')
    expect(first!.errors).toMatch(/rank 0 of 2 .*: Cannot complete barrier as rank 1 of 2: it closed its connection/)
    expect(first!.code).toBe(75)
  })

  it('ends a rank at the deadline of an all-reduce that its peer does not make', async () => {
    const [first] = await torchrun(2, 'late all-reduce of one')
    expect(first!.errors).toMatch(/Cannot complete allReduce as every rank must come to it within 1\.5 s/)
    expect(first!.code).toBe(75)
  })

  it('ends a rank at an asynchronous error of NCCL', async () => {
    const settings = 'devices=2; fault.ncclCommGetAsyncError=6@20+'
    const [first] = await torchrun(2, 'many all-reduces', { CUDNN_RNN_CUDA_EMULATOR_SETTINGS: settings })
    expect(first!.errors).toMatch(/Cannot complete \w+ as nccl\w+ failed: remote process exited or there was a network/)
    expect(first!.code).toBe(75)
  })

  it('refuses hosts without GPUs, and names the launchers of MPI', async () => {
    const [first] = await torchrun(2, 'dispose', { CUDNN_RNN_CUDA_EMULATOR: '' })
    expect(first!.errors).toMatch(/ERR_COMMUNICATOR_UNAVAILABLE/)
    expect(first!.errors).toMatch(/torchrun has started 2 processes, which NCCL connects.* mpirun, mpiexec or srun/)
  })
})
