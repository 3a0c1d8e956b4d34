import { describe, expect, it } from 'vitest'
import { coded } from '../../../../scripts/testing/coded.mjs'
import type { GenerateOptions } from '../../src/decoding/generate.js'
import { generate } from '../../src/index.js'

/** A model of ids 0..4 that counts: the id after k is k+1. `read` are the ids it was given. */
function counting() {
  const read: number[] = []
  const next = (id: number) => {
    read.push(id)
    return Float32Array.from({ length: 5 }, (_, k) => (k === (id + 1) % 5 ? 100 : 0))
  }
  const ids = async (options: Partial<GenerateOptions>) => {
    const drawn: number[] = []
    for await (const id of generate(next, { prompt: [0], ...options })) drawn.push(id)
    return drawn
  }
  return { read, next, ids }
}

describe('generate', () => {
  it('draws `length` ids, and reads none after the last', async () => {
    const { ids, read } = counting()
    expect(await ids({ prompt: [2, 3], length: 4 })).toEqual([4, 0, 1, 2])
    expect(read).toEqual([2, 3, 4, 0, 1])
  })

  it('of length 0 draws nothing', async () => {
    expect(await counting().ids({ length: 0 })).toEqual([])
  })

  it('reads nothing before the first id is requested', async () => {
    const { next, read } = counting()
    const ids = generate(next, { prompt: [1] })
    expect(read).toEqual([])
    expect(await ids.next()).toEqual({ done: false, value: 2 })
    await ids.return()
    expect(read).toEqual([1])
  })

  it('draws the same ids from the same seed, others from another', async () => {
    const draw = async (seed: number | undefined) => {
      const ids: number[] = []
      const uniform = () => new Float32Array(1000)
      for await (const id of generate(uniform, { prompt: [0], length: 8, seed })) ids.push(id)
      return ids
    }
    expect(await draw(3)).toEqual(await draw(3))
    expect(await draw(3)).not.toEqual(await draw(4))
    expect(await draw(undefined)).toEqual(await draw(0))
  })

  it('does not draw after its signal was aborted, and the model reads no more', async () => {
    const { next, read } = counting()
    const aborting = new AbortController()
    const ids = generate(next, { prompt: [0], signal: aborting.signal })
    await ids.next()
    aborting.abort(new Error('enough'))
    await expect(ids.next()).rejects.toThrow('enough')
    expect(await ids.next()).toEqual({ done: true, value: undefined })
    expect(read.length).toBeLessThanOrEqual(2)
  })

  it.each([[[0]], [[0, 1]]])('is aborted while the model does not answer, prompt %j', async (prompt) => {
    const aborting = new AbortController()
    const ids = generate(() => new Promise(() => {}), { prompt, signal: aborting.signal }).next()
    aborting.abort(new Error('enough'))
    await expect(ids).rejects.toThrow('enough')
  })

  it('hands the options of sampling on, and rejects with their errors', async () => {
    const flat = () => Float32Array.of(0, 0.5, 0)
    const drawn: number[] = []
    for await (const id of generate(flat, { prompt: [0], length: 20, topK: 1 })) drawn.push(id)
    expect(new Set(drawn)).toEqual(new Set([1]))
    await expect(counting().ids({ temperature: -1 })).rejects.toThrow(coded('ERR_HYPERPARAMETER'))
    await expect(counting().ids({ topP: 0 })).rejects.toThrow(coded('ERR_HYPERPARAMETER'))
    const nothing = generate(() => new Float32Array(0), { prompt: [0] })
    await expect(nothing.next()).rejects.toThrow(coded('ERR_NOT_FINITE'))
  })

  it.each<[string, object, string]>([
    ['an empty prompt', { prompt: [] }, 'ERR_INVALID_OPTION'],
    ['a prompt of text', { prompt: 'abc' }, 'ERR_INVALID_OPTION_TYPE'],
    ['an id below 0', { prompt: [0, -1] }, 'ERR_INVALID_OPTION'],
    ['half a seed', { seed: 0.5 }, 'ERR_INVALID_OPTION'],
    ['a length of text', { length: '3' }, 'ERR_INVALID_OPTION_TYPE'],
    ['another name', { maxLength: 3 }, 'ERR_UNKNOWN_OPTION'],
  ])('refuses %s before the model reads', async (_, options, code) => {
    const { ids, read } = counting()
    await expect(ids(options)).rejects.toThrow(coded(code))
    expect(read).toEqual([])
  })
})
