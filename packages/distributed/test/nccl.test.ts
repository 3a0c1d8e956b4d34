import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expectAllclose } from '@cudnn-rnn/conformance'
import { COMMUNICATOR_CASES } from '@cudnn-rnn/conformance/communicators'
import { openCudaEmulator } from '@cudnn-rnn/native-cuda-emulator'
import { describe, expect, it } from 'vitest'
import { loadAddon } from '../src/load_addon.js'
import { installedLaunchers, launch } from './mpi_launchers.js'
import { areRanksWhole, isWhole } from './rank_cases.js'
import { type Training, usesRankPrograms } from './rank_programs.js'

const emulator = openCudaEmulator(9)
const addon = fileURLToPath(
  new URL(
    `../../../native/cudnn/prebuilds/${process.platform}-${process.arch}-gnu/cudnn_rnn_cudnn.node`,
    import.meta.url,
  ),
)

const emulated = {
  CUDNN_RNN_CUDNN_ADDON: addon,
  ...(emulator.problem === undefined && { CUDNN_RNN_LIBRARY_DIR: emulator.folder, CUDNN_RNN_CUDA_EMULATOR: '1' }),
  CUDNN_RNN_CUDA_EMULATOR_VERBOSE: '1',
}
const launchers = loadAddon().addon === undefined ? [] : installedLaunchers()
const programs = usesRankPrograms()
/** CI's check `ranks` runs these, and so does {@link isWhole}. */
const ofRanks = <Case>(cases: readonly Case[]) => (areRanksWhole ? cases : [])

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

/**
 * Runs `program` in processes with the variables of torchrun, each with its own emulated GPU.
 *
 * @param stuck a rank that does not end: it is killed when the others have ended
 */
async function torchrun(
  ranks: number,
  what: string,
  environment: Readonly<Record<string, string>> = {},
  file = programs.ranks,
  stuck?: number,
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
        ...emulated,
        CUDNN_RNN_CUDA_EMULATOR_SETTINGS: `devices=${ranks}`,
        ...environment,
      },
    }),
  )
  const late = setTimeout(() => {
    for (const child of children) child.kill('SIGKILL')
  }, 100_000)
  try {
    const ends = children.map(ended)
    await Promise.all(ends.filter((_, rank) => rank !== stuck))
    if (stuck !== undefined) children[stuck]?.kill('SIGKILL')
    return await Promise.all(ends)
  } finally {
    clearTimeout(late)
  }
}

/** The result of the first rank. */
async function trained(ranks: number, settings: object): Promise<Training> {
  const [first] = await torchrun(ranks, JSON.stringify(settings), {}, programs.training)
  expect([first!.code, first!.errors]).toEqual([0, ''])
  return JSON.parse(first!.output) as Training
}

describe.skipIf(emulator.problem !== undefined)(`NCCL under torchrun (${emulator.problem ?? 'emulated GPUs'})`, () => {
  it.each([2, ...ofRanks([3])])('passes the conformance suite over %d processes', async (ranks) => {
    const all = await torchrun(ranks, 'conformance')
    for (const { code, errors } of all) expect([code, errors]).toEqual([0, ''])
    const [reason, ...names] = all[0]!.output.trim().split('\n')
    expect(reason).toMatch(/^nccl: NCCL 2\.27\.7 \(.*libnccl\.so\.2\), as torchrun has started \d processes$/)
    expect(names).toEqual(COMMUNICATOR_CASES.map(({ name }) => name))
  })

  it('trains as one process with the whole batches, through host memory', async () => {
    const alone = await trained(1, { engine: 'none' })
    const together = await trained(2, { engine: 'auto' })
    expect(together.isOnDevice).toBe(false)
    for (const name of ['losses', 'kernel'] as const) expectAllclose(name, together[name], alone[name], 1e-6)
  })

  it.each([2, ...ofRanks([3])])(
    'trains over %d GPUs, with the sums in the stream between captured passes and updates',
    async (ranks) => {
      const alone = await trained(1, { engine: 'none', backend: 'cudnn' })
      const together = await trained(ranks, { engine: 'auto', backend: 'cudnn' })
      expect(together.isOnDevice).toBe(true)
      for (const name of ['losses', 'kernel'] as const) expectAllclose(name, together[name], alone[name], 1e-6)
    },
  )

  it.runIf(areRanksWhole)('trains over GPUs with bfloat16 on the wire, near to one process', async () => {
    const alone = await trained(1, { engine: 'none', backend: 'cudnn' })
    const together = await trained(2, { engine: 'auto', backend: 'cudnn', wire: 'bfloat16' })
    expectAllclose('losses', together.losses, alone.losses, 2e-2)
    expect(together.losses).not.toEqual(alone.losses)
  })

  it('names a rank whose batch fails', async () => {
    const settings = JSON.stringify({ engine: 'auto', backend: 'cudnn', fails: true })
    const [first, second] = await torchrun(2, settings, {}, programs.training)
    expect(second!.errors).toMatch(/Error: no memory/)
    expect(first!.errors).toMatch(/ERR_RANK_FAILED|Cannot go on as rank 1 failed: Error: no memory/)
    expect([first!.code, second!.code]).toEqual([1, 1])
  })

  it('ends a rank whose device fails in a pass, and names the cause', async () => {
    const settings = JSON.stringify({ engine: 'auto', backend: 'cudnn' })
    const faulty = { CUDNN_RNN_CUDA_EMULATOR_SETTINGS: 'devices=2; fault.cublasGemmEx=13@9+' }
    const all = await torchrun(2, settings, faulty, programs.training)
    expect(all.map(({ errors }) => errors).join('')).toMatch(/cublasGemmEx/)
    for (const { code } of all) expect(code).not.toBe(0)
  })

  it.runIf(areRanksWhole)(
    'ends a rank at the deadline of a sum on the device that its peer does not make',
    async () => {
      const [first] = await torchrun(2, 'late sum on the device of one')
      expect(first!.errors).toMatch(
        /Cannot complete allReduce as every rank must come to it within 1\.5 s: rank 1 of 2/,
      )
      expect(first!.code).toBe(75)
    },
  )

  it.runIf(launchers.length > 0)('connects GPUs under a launcher of MPI, whose ranks connect over MPI', async () => {
    const settings = JSON.stringify({ engine: 'nccl', backend: 'cudnn' })
    const { code, output, errors } = await launch(launchers[0]!, 2, programs.training, [settings], {
      ...emulated,
      CUDNN_RNN_CUDA_EMULATOR_SETTINGS: 'devices=2',
    })
    expect([code, errors]).toEqual([0, ''])
    const together = JSON.parse(output) as Training
    const alone = await trained(1, { engine: 'none', backend: 'cudnn' })
    expect(together.isOnDevice).toBe(true)
    expectAllclose('losses', together.losses, alone.losses, 1e-6)
  })

  it.runIf(areRanksWhole && launchers.length > 0)(
    'passes the conformance suite where the ranks connect over MPI',
    async () => {
      const { code, output, errors } = await launch(launchers[0]!, 2, programs.ranks, ['conformance', 'nccl'], {
        ...emulated,
        CUDNN_RNN_CUDA_EMULATOR_SETTINGS: 'devices=2',
      })
      expect([code, errors]).toEqual([0, ''])
      const [reason, ...names] = output.trim().split('\n')
      expect(reason).toMatch(/^nccl: NCCL 2\.27\.7 /)
      expect(names).toEqual(COMMUNICATOR_CASES.map(({ name }) => name))
    },
  )

  it.runIf(isWhole && launchers.length > 0).each([
    [
      'late all-reduce of one',
      /rank 0 of 2 .*Cannot complete call 2 of NCCL as every rank must come to it within 1\.5 s: rank 1 of 2 on \S+ is in no call since/,
    ],
    [
      'silence of one in an all-reduce of the others',
      /rank 0 of 2 .*Cannot complete call 2 of NCCL as rank 1 of 2 on \S+ has sent no heartbeat for 1\.0 s/,
    ],
  ])('names the missing rank under a launcher of MPI: %s', async (what, message) => {
    const { code, errors } = await launch(launchers[0]!, 2, programs.ranks, [what, 'nccl'], {
      ...emulated,
      CUDNN_RNN_CUDA_EMULATOR_SETTINGS: 'devices=2',
    })
    expect(errors).toMatch(message)
    expect(code).toBe(75)
  })

  it('ends with code 0 at the end of the program', async () => {
    expect(await torchrun(2, 'end of the program')).toEqual([
      { code: 0, output: '', errors: '' },
      { code: 0, output: '', errors: '' },
    ])
  })

  it('names a killed rank on all others, while they sum', async () => {
    const [first, , third] = await torchrun(3, 'kill of one in an all-reduce of the others')
    for (const { code, errors } of [first!, third!]) {
      expect(errors).toMatch(/: Cannot complete allReduce as rank 1 of 3 on \S+: it closed its connection\n$/)
      expect(code).toBe(75)
    }
  })

  it.runIf(areRanksWhole)('names a stopped rank, which sends no heartbeat', async () => {
    const [first, second] = await torchrun(3, 'silence of one', {}, programs.ranks, 2)
    for (const { code, errors } of [first!, second!]) {
      expect(errors).toMatch(
        /: Cannot complete barrier as rank 2 of 3 on \S+ has sent no heartbeat for 1 s: its process/,
      )
      expect(code).toBe(75)
    }
  })

  it.runIf(isWhole).each(['endless loop of one', 'endless loop of one in a training'])(
    'names a rank in the %s',
    async (what) => {
      const [first] = await torchrun(2, what, {}, programs.ranks, 1)
      expect(first!.errors).toMatch(/as rank 1 of 2 on \S+ computes since \d+ s without a return to its event loop/)
      expect(first!.code).toBe(75)
    },
  )

  it.runIf(isWhole).each(['long work of one', 'second long work of one'])(
    'ends with code 0 after the %s',
    async (what) => {
      for (const { code, errors } of await torchrun(2, what)) expect([code, errors]).toEqual([0, ''])
    },
  )

  it.runIf(areRanksWhole)('names a rank that does not come to an all-reduce within the deadline', async () => {
    const [first] = await torchrun(2, 'late all-reduce of one')
    expect(first!.errors).toMatch(
      /Cannot complete allReduce as every rank must come to it within 1\.5 s: rank 1 of 2 on \S+ is in no call since/,
    )
    expect(first!.code).toBe(75)
  })

  it('refuses sums of tensors of another executor, and sums after dispose', async () => {
    const output = 'ERR_FOREIGN_TENSOR summed ERR_COMMUNICATOR_CLOSED'
    expect(await torchrun(2, 'sums that are refused')).toEqual([
      { code: 0, output, errors: '' },
      { code: 0, output, errors: '' },
    ])
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
