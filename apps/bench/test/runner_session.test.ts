import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { largestDifference } from '../src/agreement.js'
import { openExecutorRunner } from '../src/executor_runner.js'
import { makeOperands } from '../src/operands.js'
import { grouped, parameterLayout } from '../src/parameter_layouts.js'
import { RunnerSession } from '../src/runner_session.js'
import { readTensorFile, writeTensorFile } from '../src/tensor_file.js'
import type { Pass, Workload } from '../src/workload.js'
import { workloadDescriptor } from '../src/workload.js'

const folder = mkdtempSync(join(tmpdir(), 'runner-session-test-'))
afterAll(() => rmSync(folder, { recursive: true }))

const workload: Workload = {
  cellMode: 'gru',
  numLayers: 1,
  bidirectional: false,
  batch: 2,
  time: 4,
  inputSize: 3,
  numUnits: 3,
}

function taskOf(pass: Pass) {
  const { canonical, input, outputGradient } = makeOperands(workload, 1)
  const groups = parameterLayout('canonical').fromCanonical(workloadDescriptor(workload), canonical)
  return {
    workload,
    pass,
    parameters: writeTensorFile(join(folder, 'parameters'), grouped(groups)),
    operands: writeTensorFile(join(folder, 'operands'), { input, outputGradient }),
  }
}

async function open() {
  const session = new RunnerSession(
    await openExecutorRunner('reference', { threads: 1, precision: 'float32', instructionSet: undefined }),
  )
  return async (request: string, ask: object = {}) => {
    const reply = await session.reply(JSON.stringify({ request, ask }))
    if (!reply.ok) throw new Error(reply.message)
    return reply.answer as never
  }
}

async function resultsOf(pass: Pass) {
  const ask = await open()
  await ask('prepare', { task: taskOf(pass) })
  const { file } = (await ask('results', { path: join(folder, pass) })) as { file: never }
  return readTensorFile(file)
}

describe('RunnerSession', () => {
  it('computes the same outputs in inference, in training and step by step', async () => {
    const { output } = await resultsOf('inference')
    expect(output?.shape).toEqual([4, 2, 3])
    expect((await resultsOf('training'))['output']).toEqual(output)
    // The stepper adds up its products in another order.
    const steps = (await resultsOf('streaming'))['output']
    expect(steps.shape).toEqual([4, 2, 3])
    expect(largestDifference([['output', steps.data]], [['output', output.data]])).toBeLessThan(1e-6)
  })

  it('gives the gradients of every canonical tensor in training', async () => {
    const names = Object.keys(await resultsOf('training'))
    const numbered = (kind: string) => Array.from({ length: 6 }, (_, k) => `0/${kind}_${k}`)
    expect(names).toEqual(['output', 'inputGradient', ...numbered('weight'), ...numbered('bias')])
  })

  it('runs at least once, however short the turn', async () => {
    const ask = await open()
    await ask('prepare', { task: taskOf('inference') })
    const { times } = (await ask('run', { sliceMs: 0, warmUp: true })) as { times: number[] }
    expect(times).toHaveLength(1)
  })

  it('answers with the reason when a request cannot be met', async () => {
    const ask = await open()
    await expect(ask('run', { sliceMs: 1, warmUp: false })).rejects.toThrow('a task must be prepared first')
  })
})
