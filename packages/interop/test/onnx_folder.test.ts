import { describe, expect, it } from 'vitest'
import { field, joined, modelBytes, nodeMessage, numberField, tensorMessage, textField } from '../fuzz/onnx_bytes.js'
import { importWeights } from '../src/index.js'

const [W, B] = [tensorMessage('W', [1, 2, 2], 16), tensorMessage('B', [1, 4], 16)]
const rnn = (...inputs: string[]) => nodeMessage('RNN', ['X', ...inputs], 'Y')
const of = (domain: string, node: Uint8Array) => joined([node, textField(7, domain)])

/** FunctionProto of the domain `my`. */
function functionField(
  name: string,
  inputs: readonly string[],
  output: string,
  nodes: readonly Uint8Array[],
): Uint8Array {
  const parts = [textField(1, name), ...inputs.map((input) => textField(4, input)), textField(5, output)]
  return field(25, joined([...parts, ...nodes.map((node) => field(7, node)), textField(10, 'my')]))
}

const refusal = (nodes: readonly Uint8Array[], initializers = [W, B]) => importWeights(modelBytes(nodes, initializers))

describe('importWeights of an ONNX model with functions', () => {
  it('finds the node of a function at each call, with the constants that the call passes through another', async () => {
    const call = (output: string) => of('my', nodeMessage('Layer', ['X', 'W', 'B'], output))
    const layer = functionField('Layer', ['x', 'w', 'b'], 'Y', [
      of('my', nodeMessage('Same', ['w'], 'w2')),
      nodeMessage('RNN', ['x', 'w2', 'w', 'b'], 'Y'),
    ])
    const same = functionField('Same', ['a'], 'c', [nodeMessage('Identity', ['a'], 'c')])
    const { networks } = await importWeights(joined([modelBytes([call('a'), call('b')], [W, B]), layer, same]))
    expect(networks.map(({ name }) => name)).toEqual(['a/Y', 'b/Y'])
    expect(networks[0]!.tensorNames).toEqual(['W', 'B'])
  })

  it.each([
    ['call themselves', functionField('F', [], 'y', [of('my', nodeMessage('F', [], 'y'))]), 'ERR_WEIGHTS_CORRUPT'],
    [
      'double at each of 31 levels',
      joined(
        Array.from({ length: 31 }, (_, k) => {
          const inner = of('my', nodeMessage(`F${'+'.repeat(k + 1)}`, [], 'y'))
          return functionField(`F${'+'.repeat(k)}`, [], 'y', [inner, inner])
        }),
      ),
      'ERR_WEIGHTS_UNSUPPORTED',
    ],
  ])('refuses functions that %s', async (_, functions, code) => {
    const model = modelBytes([of('my', nodeMessage('F', [], 'y')), rnn('W', 'W')], [W])
    await expect(importWeights(joined([model, functions]))).rejects.toMatchObject({ code })
  })
})

describe('importWeights refuses a recurrent operator by name', () => {
  it.each([
    [
      'of another domain',
      [of('com.microsoft', nodeMessage('DynamicQuantizeLSTM', ['X', 'W', 'W'], 'q'))],
      'q.*DynamicQuantizeLSTM of com.microsoft',
    ],
    ['whose weights are inputs', [rnn('V', 'W')], 'its W must be a constant.*V is not a constant'],
    ['whose bias is computed', [nodeMessage('Softmax', ['B'], 'b'), rnn('W', 'W', 'b')], 'its B must be a constant'],
    [
      'whose weights are computed',
      [nodeMessage('Concat', ['W', 'X'], 'w'), rnn('w', 'W')],
      'its W.*X is not a constant',
    ],
    [
      'whose weights are in a cycle',
      [nodeMessage('Identity', ['b'], 'a'), nodeMessage('Identity', ['a'], 'b'), rnn('a', 'W')],
      'computes it from itself',
    ],
    ['whose weights are many nodes away', [...chain('Identity', 'W', 100), rnn('v100', 'W')], 'more than 64 nodes'],
  ])('%s', async (_, nodes, message) => {
    await expect(refusal(nodes)).rejects.toMatchObject({
      code: 'ERR_WEIGHTS_OTHER_FUNCTION',
      message: expect.stringMatching(new RegExp(message, 's')),
    })
  })

  it('and leaves the others to the option only', async () => {
    const nodes = [rnn('V', 'W'), nodeMessage('RNN', ['X', 'W', 'W'], 'good')]
    const { networks } = await importWeights(modelBytes(nodes, [W]), { only: ['good'] })
    expect(networks).toHaveLength(1)
  })
})

describe('importWeights of hostile constants', () => {
  it('takes the size of an Expand for no promise', async () => {
    const shape = joined([
      numberField(1, 3),
      numberField(2, 7),
      textField(8, 's'),
      field(9, new Uint8Array(new BigInt64Array([1n, 2n ** 40n, 2n]).buffer)),
    ])
    const nodes = [nodeMessage('Expand', ['W', 's'], 'w'), rnn('w', 'W')]
    await expect(refusal(nodes, [W, shape])).rejects.toMatchObject({ code: 'ERR_WEIGHTS_OTHER_FUNCTION' })
  })

  it('ends in time in proportion to the file: 20,000 nodes in a chain, and 2,000 networks after 60 sums that double', async () => {
    const long = [...chain('Identity', 'W', 20_000), rnn('v20000', 'W')]
    await expect(refusal(long)).rejects.toMatchObject({ code: 'ERR_WEIGHTS_OTHER_FUNCTION' })
    const sums = [...chain('Add', 'W', 60, 2), ...Array.from({ length: 2000 }, () => rnn('v60', 'W'))]
    expect((await refusal(sums)).networks).toHaveLength(2000)
  })
})

function chain(operator: string, first: string, length: number, times = 1): Uint8Array[] {
  return Array.from({ length }, (_, k) => {
    const value = k === 0 ? first : `v${k}`
    return nodeMessage(operator, Array<string>(times).fill(value), `v${k + 1}`)
  })
}
