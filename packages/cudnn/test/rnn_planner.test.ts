import { createRnnDescriptor, flatLayout, type RnnOptions } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import { CommandList } from '../src/device/command_list.js'
import type { CommandQueue } from '../src/device/command_queue.js'
import type { CudnnExecutor } from '../src/device/cudnn_executor.js'
import type { BufferHome } from '../src/device/device_buffer.js'
import { arithmeticOf } from '../src/device/precision.js'
import { planKey } from '../src/rnn/rnn_plan.js'
import { RnnPlanner } from '../src/rnn/rnn_planner.js'

/** The numbers of the list of an action, in the place of cuDNN's. */
type Answers = Record<string, (() => readonly number[]) | undefined>

function planner(options: Partial<RnnOptions> = {}) {
  const network = createRnnDescriptor({
    ...{ cellMode: 'lstm', numLayers: 1, numUnits: 2, inputSize: 3, inputMode: 'linear_input', ...options },
  })
  const layout = flatLayout(network)
  const bytes = 4
  const state = { next: 0, released: [] as number[], lists: [] as string[] }
  /** Byte, dimension and element numbers of cuDNN's regions: the first of three is the byte. */
  const weightParams = () => {
    const linearLayers = 8 + (network.numProj === undefined ? 0 : 1)
    const numbers = new Array<number>(6 * linearLayers * network.numLayers).fill(-1)
    for (const { pseudoLayer, linLayerId, kind, size, offset } of [...layout.weights, ...layout.biases]) {
      const at = (pseudoLayer * linearLayers + linLayerId) * 6 + (kind === 'weight' ? 0 : 3)
      numbers[at] = size === 0 ? -1 : offset * bytes
    }
    return numbers
  }
  const answers: Answers = {
    'size the weight space': () => [layout.size * bytes],
    'query the weight layout': weightParams,
    'size the workspace': () => [100, 200],
  }
  const home: BufferHome = {
    newId: <Id>() => ++state.next as Id,
    release: ({ id }) => void state.released.push(id),
    account: () => {},
  }
  const ran = (list: CommandList) => {
    state.lists.push(list.actions[0])
    return Float64Array.from(answers[list.actions[0]]?.() ?? [])
  }
  const queue = {
    run: async (list: CommandList) => ran(list),
    settleNow: ran,
    releaseNow: (ids: readonly number[]) => void state.released.push(...ids),
  } as unknown as CommandQueue
  const session = {
    ...{
      queue,
      info: { cudnnVersion: 90000 },
      newId: home.newId,
      list: (action: string) => new CommandList(home, action),
    },
    destroy: (...ids: (number | null | undefined)[]) => void state.released.push(...ids.flatMap((id) => id ?? [])),
  }
  const arithmetic = arithmeticOf('float32', undefined)
  const choices = { algorithm: 'standard', graphs: 'never', kernels: 'cudnn' }
  const executor = { session, arithmetic, ...choices } as unknown as CudnnExecutor
  const made = new RnnPlanner(executor, network, layout)
  const sizes = (batch = 2, lengths?: readonly number[]) => ({
    ...{ time: 5, batch, sequenceLengths: lengths === undefined ? null : Int32Array.from(lengths) },
  })
  const plan = (batch?: number, lengths?: readonly number[], training = true) => {
    const given = sizes(batch, lengths)
    return made.plan(queue, planKey(given, training), { sizes: given, training })
  }
  return { made, plan, sizes, state, answers, queue }
}

describe('RnnPlanner', () => {
  it('makes a plan once per shape, and checks the layout once per network', async () => {
    const { plan, state } = planner()
    const first = await plan()
    expect(first).toMatchObject({ algorithm: 'standard', workspaceBytes: 100, reserveBytes: 200, training: true })
    expect(state.lists).toEqual([
      ...['prepare the network', 'size the weight space', 'query the weight layout'],
      ...['size the workspace', 'prepare the network'],
    ])
    state.lists.length = 0
    expect(await plan()).toBe(first)
    expect(state.lists).toEqual([])
    const other = await plan(4)
    expect(other.rnn).toBe(first.rnn)
    expect(state.lists).toEqual(['size the workspace', 'prepare the network'])
  })

  it('makes the same plan for a caller that waits', () => {
    const { made, sizes, state } = planner()
    const plan = made.planAndWait('inference', sizes())
    expect(plan).toMatchObject({ algorithm: 'standard', training: false, workspaceBytes: 100 })
    expect(made.planAndWait('inference', sizes())).toBe(plan)
    expect(made.known('inference')).toBe(plan)
    expect(state.lists).toHaveLength(5)
  })

  it('plans new lengths of a known shape without a query', async () => {
    const { made, plan, sizes, state } = planner()
    const training = true
    expect(made.planNow('first', sizes(2, [5, 1]), training)).toBeUndefined()
    const known = await plan(2, [5, 1])
    state.lists.length = 0
    const now = made.planNow('next', sizes(2, [3, 0]), training)
    expect(now).toMatchObject({ rnn: known.rnn, workspaceBytes: 100, isReplayable: true })
    expect(now?.lengths.withEmptyRows).toBe(now?.lengths.real)
    expect(state.lists).toEqual(['prepare the network'])
    // Full rows have another descriptor, and other rows another workspace.
    expect(made.planNow('full', sizes(2), training)).toBeUndefined()
    expect(made.planNow('rows', sizes(3, [1, 1, 1]), training)).toBeUndefined()
    expect(made.planNow('inference', sizes(2, [5, 1]), false)).toBeUndefined()
  })

  it.each<[string, Partial<RnnOptions>, keyof Answers & string, (numbers: number[]) => number[], RegExp]>([
    ['the weight space', {}, 'size the weight space', ([bytes]) => [bytes + 4], /the weight space is at byte/],
    [
      'a matrix',
      {},
      'query the weight layout',
      (numbers) => numbers.with(6, numbers[6] + 4),
      /the weight 1 of pseudo-layer 0 is at byte/,
    ],
    ['a bias', {}, 'query the weight layout', (numbers) => numbers.with(3, -1), /the bias 0 of pseudo-layer 0/],
    [
      'the projection',
      { numProj: 1 },
      'query the weight layout',
      (numbers) => numbers.with(48, 0),
      /the weight 8 of pseudo-layer 0/,
    ],
  ])(
    'refuses a cuDNN that has %s elsewhere, and destroys the descriptor',
    async (_, options, action, change, words) => {
      const { plan, state, answers, made } = planner(options)
      const right = answers[action]
      answers[action] = () => change([...(right?.() ?? [])])
      const refusal = { code: 'ERR_CUDNN_LAYOUT', message: expect.stringMatching(words) }
      await expect(plan()).rejects.toMatchObject(refusal)
      expect(state.released).toEqual([1])
      // The next pass tries again: the refused plan and descriptor are not kept.
      answers[action] = right
      expect(made.known(planKey({ time: 5, batch: 2, sequenceLengths: null }, true))).toBeUndefined()
      expect((await plan()).rnn).not.toBe(1)
    },
  )

  it('destroys the descriptors of a size query, also where it fails', async () => {
    const { plan, state, answers } = planner()
    answers['size the workspace'] = () => {
      throw new Error('no room')
    }
    await expect(plan()).rejects.toThrow('no room')
    // x, y, h and c; the network's own descriptor stays for the next try.
    expect(state.released).toHaveLength(4)
    state.lists.length = 0
    answers['size the workspace'] = () => [1, 2]
    expect(await plan()).toMatchObject({ workspaceBytes: 1, reserveBytes: 2 })
    expect(state.lists).toEqual(['size the workspace', 'prepare the network'])
  })

  it('drops a plan whose commands fail, and makes a new one', async () => {
    const { made, plan, answers, sizes } = planner()
    const known = await plan(3)
    let left = 1
    answers['prepare the network'] = () => {
      if (left-- > 0) throw new Error('lost')
      return []
    }
    await expect(plan()).rejects.toThrow('lost')
    expect(made.known(planKey(sizes(), true))).toBeUndefined()
    expect((await plan()).rnn).toBe(known.rnn)
  })

  it('destroys plans and descriptors when it is disposed', async () => {
    const { made, plan, state } = planner()
    const first = await plan()
    await plan(3)
    state.released.length = 0
    made.dispose()
    expect(state.released).toContain(first.rnn)
    // Four descriptors for each of two plans, and the network's.
    expect(new Set(state.released).size).toBe(9)
    expect(state.released).toHaveLength(9)
  })
})
