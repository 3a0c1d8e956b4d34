import { describe, expect, it } from 'vitest'
import { coded } from '../../../scripts/testing/coded.mjs'
import { field, joined, modelBytes, nodeMessage, numberField, tensorMessage, textField } from '../fuzz/onnx_bytes.js'
import { importWeights } from '../src/index.js'

const node = nodeMessage
const [W, R] = [tensorMessage('W', [3, 4], 48), tensorMessage('R', [4, 4], 64)]

/** Three steps of a cell, each of which multiplies by `factor(step)`. */
function steps(factor: (step: number) => string, made: (step: number) => readonly Uint8Array[] = () => []) {
  return [0, 1, 2].flatMap((t) => [
    node('MatMul', [`x${t}`, 'W'], `a${t}`),
    ...made(t),
    node('MatMul', [t === 0 ? 'first' : `h${t - 1}`, factor(t)], `b${t}`),
    node('Add', [`a${t}`, `b${t}`], `c${t}`),
    node('Tanh', [`c${t}`], `h${t}`),
  ])
}

/** A Scan or Loop node, whose body has these nodes and outputs. */
function loop(opType: string, inputs: readonly string[], body: readonly Uint8Array[], outputs: readonly string[]) {
  const values = outputs.map((name) => field(12, textField(1, name)))
  const graph = joined([...body.map((each) => field(1, each)), ...values])
  const attributes = [
    field(5, joined([textField(1, 'body'), field(6, graph)])),
    field(5, joined([textField(1, 'num_scan_inputs'), numberField(3, 1)])),
  ]
  return joined([node(opType, inputs, 'last'), ...attributes])
}

const STEP = [node('MatMul', ['h', 'R'], 'b'), node('Add', ['x', 'b'], 'c'), node('Tanh', ['c'], 'next')]

describe('importWeights of an ONNX model whose recurrence has other operators than recurrent ones', () => {
  it.each([
    ['unrolled steps', steps(() => 'R'), 'R (a factor of a product of it'],
    [
      'steps that transpose their matrix',
      steps(
        (t) => `R${t}`,
        (t) => [node('Transpose', ['R'], `R${t}`)],
      ),
      'R (a factor',
    ],
    ['Scan', [loop('Scan', ['first', 'x'], STEP, ['next', 'c'])], 'last (a Scan that carries a product'],
    ['Loop', [loop('Loop', ['n', '', 'first'], STEP, ['on', 'next'])], 'last (a Loop that carries a product'],
  ])('refuses %s and names its matrix or loop', async (_, nodes, text) => {
    await expect(importWeights(modelBytes(nodes, [W, R]))).rejects.toThrow(
      coded('ERR_WEIGHTS_UNRECOGNIZED', { message: expect.stringContaining(`the recurrences ${text}`) }),
    )
  })

  const layer = (from: string, weight: string, to: string) => node('MatMul', [from, weight], to)
  it.each([
    ['layers one after the other', [layer('x', 'W', 'a'), node('Relu', ['a'], 'b'), layer('b', 'R', 'y')]],
    ['one layer of two inputs', [layer('x', 'R', 'a'), layer('z', 'R', 'b'), node('Sub', ['a', 'b'], 'y')]],
    [
      'attention, which multiplies by its input twice',
      [layer('x', 'R', 'a'), layer('a', 'x', 'b'), layer('b', 'x', 'y')],
    ],
    ['Scan without a state', [loop('Scan', ['x'], [layer('x', 'R', 'y')], ['y'])]],
  ])('gives an empty list for %s', async (_, nodes) => {
    expect((await importWeights(modelBytes(nodes, [W, R]))).networks).toEqual([])
  })
})
