import type { ActivationName } from '@cudnn-rnn/ops/executor'
import { describe, expect, it } from 'vitest'
import { LAYER_FUNCTIONS } from '../../../src/executor/host/layer_ops.js'

const { activate, activationGradient, dropout, layerNorm, layerNormGradients } = LAYER_FUNCTIONS

const of = (...values: number[]) => Float64Array.from(values)
const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 13))
const ROWS = { rows: 2, columns: 3 }
const X = of(1, -2, 0.5, 0.25, 3, -1)
const DY = of(1, 0.5, -1, 0.25, 0, 2)

const unbounded = (activation: ActivationName) => ({ activation, maximum: Number.POSITIVE_INFINITY })

describe('activate and activationGradient', () => {
  // torch 2.13.0 in float64: the functions of torch.nn.functional, and .backward() from DY.
  it.each<[ActivationName, number[], number[]]>([
    [
      'tanh',
      [
        0.7615941559557649, -0.9640275800758169, 0.46211715726000974, 0.24491866240370913, 0.9950547536867305,
        -0.7615941559557649,
      ],
      [0.41997434161402614, 0.035325412426582214, -0.7864477329659274, 0.2350037122015945, 0, 0.8399486832280523],
    ],
    [
      'sigmoid',
      [
        0.7310585786300049, 0.11920292202211755, 0.6224593312018546, 0.5621765008857981, 0.9525741268224334,
        0.2689414213699951,
      ],
      [0.19661193324148185, 0.05249679270175325, -0.2350037122015945, 0.06153352068439959, 0, 0.3932238664829637],
    ],
    ['relu', [1, 0, 0.5, 0.25, 3, 0], [1, 0, -1, 0.25, 0, 0]],
    [
      'elu',
      [1, -0.8646647167633873, 0.5, 0.25, 3, -0.6321205588285577],
      [1, 0.06766764161830635, -1, 0.25, 0, 0.7357588823428847],
    ],
    [
      'softplus',
      [
        1.3132616875182228, 0.1269280110429725, 0.9740769841801067, 0.8259394198788436, 3.048587351573742,
        0.31326168751822286,
      ],
      [0.7310585786300049, 0.05960146101105877, -0.6224593312018546, 0.14054412522144952, 0, 0.5378828427399902],
    ],
    [
      'softmax',
      [
        0.6037488961486258, 0.030058887569574023, 0.3661922162818002, 0.05906975759251023, 0.9240064735078669,
        0.016923768899622816,
      ],
      [
        0.4512503028115044, 0.007436985892308666, -0.45868728870381303, 0.011895764479713312, -0.044920553639810165,
        0.03302478916009686,
      ],
    ],
  ])('%s as PyTorch', (activation, expected, gradient) => {
    const [y, dx] = [new Float64Array(6), new Float64Array(6)]
    activate([y], [X], { ...ROWS, ...unbounded(activation) })
    expect([...y]).toEqual(close(expected))
    activationGradient([dx], [y, DY], { ...ROWS, ...unbounded(activation) })
    expect([...dx]).toEqual(close(gradient))
  })

  it.each<[ActivationName, number, number]>([
    ['softplus', 1000, 1000],
    ['softplus', -1000, 0],
    ['elu', -1000, -1],
    ['sigmoid', -1000, 0],
    ['relu', Number.NaN, Number.NaN],
  ])('%s of %d is %d', (activation, x, expected) => {
    const y = of(9)
    activate([y], [of(x)], { rows: 1, columns: 1, ...unbounded(activation) })
    expect(y[0]).toBe(expected)
  })

  it('relu ends at its maximum, where its derivative is 0', () => {
    const [y, dx] = [new Float64Array(4), new Float64Array(4)]
    const relu6 = { rows: 1, columns: 4, activation: 'relu', maximum: 6 } as const
    activate([y], [of(-1, 5, 6, 9)], relu6)
    expect([...y]).toEqual([0, 5, 6, 6])
    activationGradient([dx], [y, of(1, 2, 3, 4)], relu6)
    expect([...dx]).toEqual([0, 2, 0, 0])
  })

  it('softmax takes large logits, row by row', () => {
    const y = new Float64Array(4)
    activate([y], [of(1e4, 1e4, -1e4, -1e4)], { rows: 2, columns: 2, ...unbounded('softmax') })
    expect([...y]).toEqual([0.5, 0.5, 0.5, 0.5])
  })
})

describe('layerNorm and layerNormGradients', () => {
  // torch 2.13.0: torch.nn.functional.layer_norm with eps 1e-3.
  const [X3, gamma, beta] = [of(1, -2, 0.5, 0, 3, -1), of(0.5, 1, 2), of(0.1, 0, -0.2)]
  it('as PyTorch', () => {
    const y = new Float64Array(6)
    layerNorm([y], [X3, gamma, beta], { ...ROWS, epsilon: 1e-3 })
    expect([...y]).toEqual(
      close([
        0.5443714521558898, -1.3965959924899392, 0.8157061763563196, -0.09608220077057839, 1.3725754053940489,
        -2.160822007705784,
      ]),
    )
    const dX = new Float64Array(6)
    const [dGamma, dBeta] = [of(9, 9, 9), of(9, 9, 9)]
    layerNormGradients([dX, dGamma, dBeta], [X3, gamma, DY], { ...ROWS, epsilon: 1e-3 })
    expect([...dX]).toEqual(
      close([
        0.9213412503870493, 0.18456296139300743, -1.1059042117800566, -1.040638297536077, 0.25981607808379215,
        0.7808222194522849,
      ]),
    )
    expect([...dGamma]).toEqual(close([0.7907018039264903, -0.6982979962449696, -2.4686750958839436]))
    expect([...dBeta]).toEqual(close([1.25, 0.5, 1]))
  })

  it('is beta for a constant row', () => {
    const y = new Float64Array(3)
    layerNorm([y], [of(7, 7, 7), gamma, beta], { rows: 1, columns: 3, epsilon: 1e-5 })
    expect([...y]).toEqual([...beta])
  })
})

describe('dropout', () => {
  const mask = { seedLow: 5, seedHigh: 0, drawLow: 3, drawHigh: 0, threshold: 2 ** 23, kept: 2 }
  const ones = new Float64Array(10_000).fill(1)

  it('drops elements at the rate and scales the rest, the same ones each time', () => {
    const [first, second] = [new Float64Array(10_000), new Float64Array(10_000)]
    dropout([first], [ones], mask)
    dropout([second], [ones], mask)
    expect(second).toEqual(first)
    expect(new Set(first)).toEqual(new Set([0, 2]))
    // Five standard deviations.
    expect(Math.abs(first.filter((value) => value === 0).length - 5000)).toBeLessThan(250)
  })

  it('draws element k from word k mod 4 of block ⌊k/4⌋: a prefix of a longer mask', () => {
    const [short, long] = [new Float64Array(7), new Float64Array(1000)]
    dropout([short], [ones], mask)
    dropout([long], [ones], mask)
    expect([...short]).toEqual([...long.subarray(0, 7)])
  })

  it.each([
    ['another seed', { seedLow: 6 }],
    ['another high word of the seed', { seedHigh: 1 }],
    ['another draw', { drawLow: 4 }],
    ['another high part of the draw', { drawHigh: 1 }],
  ])('gives another mask to %s', (_, change) => {
    const [first, second] = [new Float64Array(64), new Float64Array(64)]
    dropout([first], [ones], mask)
    dropout([second], [ones], { ...mask, ...change })
    expect(second).not.toEqual(first)
  })
})
