import { createRnnDescriptor } from '@cudnn-rnn/canonical'
import { describe, expect, it } from 'vitest'
import type { ImportedCell, ImportedNetwork, Interpretation } from '../src/networks/interpretation.js'
import { MemoryBudget } from '../src/networks/memory_budget.js'

const FREE = 2 ** 25

/** A network of one array; nothing of it is allocated but the array's object. */
function network(bytes: number, data = new Float32Array(bytes / 4)): ImportedNetwork {
  const descriptor = createRnnDescriptor({ cellMode: 'gru', numLayers: 1, numUnits: 2, inputSize: 3 })
  return {
    ...{ name: 'net', convention: 'onnx', descriptor, reverse: false, inputs: {}, tensorNames: [], notes: [] },
    canonical: { weights: [{ data, shape: [data.length] }], biases: [] },
  }
}

const refusal = expect.objectContaining({ name: 'WeightFileError', code: 'ERR_WEIGHTS_UNSUPPORTED' })

describe('MemoryBudget', () => {
  it('allows twice the bytes of the file beside the free ones, and refuses more', () => {
    const budget = new MemoryBudget('file', () => 2 ** 20)
    budget.charge(network(FREE))
    budget.charge(network(2 ** 21 - 4096))
    expect(() => budget.charge(network(4096))).toThrow(refusal)
  })

  it('counts an array once, however many networks have it', () => {
    const budget = new MemoryBudget('file', () => 0)
    const data = new Float32Array(FREE / 8)
    for (let k = 0; k < 100; k++) budget.charge(network(0, data))
    expect(() => budget.charge(network(FREE / 2))).toThrow(refusal)
  })

  it('counts each network itself, so that many of shared arrays end too', () => {
    const budget = new MemoryBudget('file', () => 0)
    const data = new Float32Array(1)
    const chargeAll = () => {
      for (let k = 0; k <= FREE / 1024; k++) budget.charge(network(0, data))
    }
    expect(chargeAll).toThrow(refusal)
  })

  it('counts initial states, lengths and the variables of cells', () => {
    const half = { data: new Float32Array(FREE / 8), shape: [1, 1, FREE / 8] }
    const states = { ...network(4), inputs: { initialH: half, initialC: { ...half, data: half.data.slice() } } }
    expect(() => new MemoryBudget('file', () => 0).charge(states)).toThrow(refusal)
    const lengths = { ...network(4), inputs: { sequenceLengths: new Array(FREE / 8) } }
    expect(() => new MemoryBudget('file', () => 0).charge(lengths)).toThrow(refusal)
    const cell = {
      cell: 'LSTMBlockCell',
      variables: { kernel: half, bias: half },
      inputs: {},
    } as unknown as ImportedCell
    new MemoryBudget('file', () => 0).charge(cell)
    const other = { ...cell, variables: { kernel: half, bias: { ...half, data: half.data.slice() } } }
    expect(() => new MemoryBudget('file', () => 0).charge(other)).toThrow(refusal)
  })

  it('compares with the size of the file at each charge, as unpacking may raise it', () => {
    let held = 0
    const budget = new MemoryBudget('file', () => held)
    budget.charge(network(FREE - 4096))
    held = 2 ** 20
    budget.charge(network(2 ** 20))
    held = 0
    expect(() => budget.charge(network(4))).toThrow(refusal)
  })

  it('refuses an interpretation of more tensors than a network has', () => {
    const interpretation = (count: number) => ({ name: 'net', tensors: new Array(count) }) as unknown as Interpretation
    const budget = new MemoryBudget('file', () => 0)
    budget.check(interpretation(2 ** 15))
    expect(() => budget.check(interpretation(2 ** 15 + 1))).toThrow(refusal)
  })
})
